// The chapters, in the order they are told.
#pragma once

void three_layers();             // what a gradient keeps, and four ways to keep less
void forward_and_backward();     // the two programs side by side
void save_policies();            // what to keep, said by policy; and being told when it changes nothing
void recursive_checkpointing();  // memory that grows with the logarithm of the depth
void deep_stack();               // layers in a loop
void two_spirals();              // training a network

int run_alone(void (*chapter)());  // one of them as a program of its own: its exit code
