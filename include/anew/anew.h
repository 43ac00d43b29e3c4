// The whole library: arrays and operations, policies, trees, transformations, control flow, inspection.
#pragma once
#include <anew/array.h>
#include <anew/base.h>
#include <anew/control.h>
#include <anew/convolution.h>
#include <anew/flat.h>
#include <anew/inspect.h>
#include <anew/linearize.h>
#include <anew/nn.h>
#include <anew/ops.h>
#include <anew/policy.h>
#include <anew/random.h>
#include <anew/special.h>
#include <anew/transforms.h>
#include <anew/tree.h>
