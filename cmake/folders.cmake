# The map of src/: one line per folder, `anew_folder(<folder> [folders it may include directly])`; anew_extension is the
# same for a library of its own.
# Directions are transitive: control may include whatever transforms may. This is the only copy of the map;
# tools/check_includes reads these lines too and holds every #include to them.

anew_folder(base)
anew_folder(plan base)
anew_folder(loops base)
anew_folder(runtime loops plan)
anew_folder(ir runtime)
anew_folder(trace ir)
anew_folder(tree trace)
anew_folder(io tree)
anew_folder(ops trace)
anew_folder(composed ops)
anew_folder(optim composed)
anew_folder(transforms ops)
anew_folder(control transforms plan)
anew_folder(solvers control composed)
anew_folder(looped composed control)
anew_folder(passes control)
anew_folder(codegen loops)
anew_folder(jit passes codegen tree)
anew_folder(inspect jit)
anew_folder(stablehlo control tree)
anew_extension(mpi control)
