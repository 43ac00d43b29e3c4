#!/usr/bin/env python3
"""Compiles the misuses of cases.txt and checks that each is refused and that the first error is the one expected.

Usage: run.py COMPILER INCLUDE_FOLDER BUILD_FOLDER. The headers are precompiled once, so a case takes a tenth of a second.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HEADERS = """#include <anew/batching.h>
#include <anew/control.h>
#include <anew/effects.h>
#include <anew/inspect.h>
#include <anew/solvers.h>
#include <anew/transforms.h>
#include <memory>
#include <variant>
"""


def read_cases(path):
    cases = []
    for part in re.split(r"^=== ", open(path).read(), flags=re.M)[1:]:
        name, expect, code = part.split("\n", 2)
        cases.append((name, expect.removeprefix("expect: "), code))
    return cases


def main():
    compiler, include, build = sys.argv[1:]
    folder = os.path.join(build, "compile_fail")
    os.makedirs(folder, exist_ok=True)
    flags = [compiler, "-std=c++20", "-I", include]
    header = os.path.join(folder, "headers.h")
    with open(header, "w") as f:
        f.write(HEADERS)
    clang = "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    precompiled = header + (".pch" if clang else ".gch")
    subprocess.run(flags + ["-x", "c++-header", header, "-o", precompiled], check=True)
    use = ["-include-pch", precompiled] if clang else ["-include", header]

    def run(number, case):
        name, expect, code = case
        source = os.path.join(folder, f"case_{number}.cpp")
        with open(source, "w") as f:
            f.write("using namespace anew;\nArray x;\n" + code)
        result = subprocess.run(flags + use + ["-fsyntax-only", source], capture_output=True, text=True)
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        if result.returncode == 0:
            return f"FAIL  {name}: it compiles"
        if expect not in errors[0]:
            return f"FAIL  {name}\n      expected: {expect}\n      got:      {errors[0]}"
        return f"ok    {name} ({len(result.stderr.splitlines())} lines)"

    cases = read_cases(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.txt"))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, range(len(cases)), cases))
    print("\n".join(results))
    return any(r.startswith("FAIL") for r in results)


sys.exit(main())
