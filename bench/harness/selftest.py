#!/usr/bin/env python3
"""Tests of what the runner computes, without measuring anything: selftest.py"""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import contest
import plots
import rows
import table


def block(*times, foreign=0.0):
    return {"times_ms": list(times), "cpu_ms": min(times), "foreign_cores": foreign}


def contestant(peer, variant, best, **more):
    return {"peer": peer, "variant": variant, "best_ms": best, "median_ms": best * 1.1, "undisturbed": 3, "value": 2.0,
            "grad_norm": 3.0, **more}


OURS = dict(flops=2e9, argument_bytes=10, output_bytes=10, double=False, peak_bytes_reported=5e6, compile_cpu_s=0.5)
FLOORS = [{"threads": 2, "fma_f32": 1e12, "fma_f64": 5e11, "read": 1e10, "write": 2e10, "triad": 1.5e10}]


def result(*contestants, **more):
    return {"set": "workloads", "name": "w", "threads": 2, "tolerance": 1e-6, "contestants": list(contestants), **more}


class Disturbance(unittest.TestCase):
    def test_foreign_work_disturbs(self):
        quiet, busy, unknown = block(1, 1, 1), block(1, 1, 1, foreign=0.5), block(1, 1, 1, foreign=None)
        self.assertEqual(contest.undisturbed([quiet, busy, unknown]), [quiet, unknown])

    def test_a_median_far_from_the_best_of_all_disturbs(self):
        good, slow, wide = block(1, 1.1, 1.2), block(1.5, 1.5, 1.5), block(1, 1.9, 2)
        self.assertEqual(contest.undisturbed([slow, good, wide]), [good])

    def test_summary_takes_the_best_of_all_and_the_median_of_the_undisturbed(self):
        s = contest.summary([block(1.0, 1.1, 1.2), block(0.95, 9, 9), block(5, 5, 5, foreign=1.0)])
        self.assertEqual((s["best_ms"], s["median_ms"], s["samples"], s["undisturbed"]), (0.95, 1.1, 9, 1))

    def test_without_undisturbed_blocks_all_count(self):
        s = contest.summary([block(1, 2, 3, foreign=1.0)])
        self.assertEqual((s["best_ms"], s["median_ms"], s["undisturbed"]), (1, 2, 0))


class Scripted:
    """A child whose blocks are given."""

    def __init__(self, *blocks):
        self.name, self.to_come, self.blocks = "child", list(blocks), []

    def alive(self):
        return True

    def ask(self, seconds):
        self.blocks.append(self.to_come.pop(0))


class Race(unittest.TestCase):
    def test_only_the_disturbed_run_again_until_half_is_good(self):
        calm = Scripted(*[block(1, 1)] * 4)
        late = Scripted(*[block(1, 1, foreign=1.0)] * 4, block(1, 1), block(1, 1), block(1, 1))
        contest.race([calm, late], rounds=4, seconds=0, repeats=3, tell=lambda text: None)
        self.assertEqual((len(calm.blocks), len(late.blocks)), (4, 6))

    def test_repeats_end(self):
        never = Scripted(*[block(1, foreign=1.0)] * 9)
        contest.race([never], rounds=2, seconds=0, repeats=3, tell=lambda text: None)
        self.assertEqual(len(never.blocks), 5)

    def test_no_round_but_the_first_begins_late(self):
        slow, time = Scripted(*[block(1, foreign=1.0)] * 9), iter(range(0, 1000, 20))
        contest.race([slow], rounds=4, seconds=0, repeats=3, tell=lambda text: None, limit=45, clock=lambda: next(time))
        self.assertEqual(len(slow.blocks), 3)

    def test_a_child_that_ends_is_an_error_and_not_the_end(self):
        child = contest.Child("gone", [sys.executable, "-c", "import sys; sys.exit('no such thing')"], timeout=20)
        child.wait()
        self.assertEqual(child.info, {"error": "no such thing"})

    def test_a_child_answers_stopped_and_continued(self):
        code = ("print('noise'); print('{\"value\": 1}', flush=True)\n"
                "for l in iter(input, ''): print('{\"times_ms\": [%s], \"cpu_ms\": 1}' % l, flush=True)")
        child = contest.Child("echo", [sys.executable, "-c", code], timeout=20)
        self.assertEqual(child.wait(), {"value": 1})
        child.ask(0.5)
        child.ask(0.25)
        child.close()
        self.assertEqual([b["times_ms"] for b in child.blocks], [[0.5], [0.25]])


class Table(unittest.TestCase):
    def test_the_fastest_of_each_side_make_the_ratio(self):
        f = table.line(result(contestant("anew", "plain", 4, **OURS), contestant("anew", "scan", 5, **OURS),
                              contestant("jax", "jit", 10), contestant("torch", "eager", 8)), FLOORS, 100)
        self.assertEqual((f["ours"]["variant"], f["theirs"]["peer"], f["ratio"]), ("plain", "torch", 0.5))
        self.assertEqual((f["floor_ms"], f["of_floor"], f["compared"], f["unequal"]), (2.0, 2.0, 2, {}))

    def test_bytes_count_beyond_the_cache(self):
        ours = {**OURS, "argument_bytes": 3e7, "output_bytes": 1e7, "flops": 1e9}
        self.assertEqual(table.floor_ms([contestant("anew", "plain", 4, **ours)], FLOORS, 1e9, 2), 1.0)
        self.assertEqual(table.floor_ms([contestant("anew", "plain", 4, **ours)], FLOORS, 1e7, 2), 2.0)
        self.assertIsNone(table.floor_ms([contestant("anew", "plain", 4, **ours)], FLOORS, 1e7, 4))

    def test_other_results_are_named(self):
        f = table.line(result(contestant("anew", "plain", 4, **OURS), contestant("jax", "jit", 10, value=2.1),
                              contestant("torch", "eager", 8, grad_norm=3.000003)), FLOORS, 100)
        self.assertEqual(list(f["unequal"]), ["jax:jit"])
        self.assertEqual(table.cells(f)[-1], "NO: jax:jit")
        both = [contestant("anew", "plain", 4), contestant("jax", "jit", 4, value=float("nan"))]
        self.assertEqual(table.differences(both, 1e-6, False)["jax:jit"], float("inf"))

    def test_a_sum_that_cancels_is_held_against_the_norm(self):
        both = [contestant("anew", "jit", 1, value=1e-7), contestant("jax", "jit", 1, value=0.0)]
        self.assertGreater(table.differences(both, 1e-6, False)["jax:jit"], 2)
        self.assertLess(table.differences(both, 1e-6, True)["jax:jit"], 2)

    def test_failures_have_a_line(self):
        failed = {"peer": "anew", "variant": "plain", "error": "x"}
        f = table.line(result(failed, contestant("jax", "jit", 10)), FLOORS, 100)
        self.assertEqual(table.cells(f)[:4], ("w", "failed", "–", "–"))
        self.assertEqual(f["errors"], {"anew:plain": "x"})

    def test_texts(self):
        self.assertEqual([table.time_text(t) for t in (None, 0.0003, 0.123, 12.345, 345.6, 2345)],
                         ["–", "0.3 us", "123 us", "12.3 ms", "346 ms", "2.35 s"])
        f = table.line(result(contestant("anew", "plain", 4, **OURS),
                              contestant("torch", "eager", 8, undisturbed=0, peak_rss_delta_bytes=2e6)), FLOORS, 100)
        self.assertEqual(table.cells(f), ("w", "plain", "4 ms", "4.4 ms", "torch:eager", "~8 ms", "0.50", "2",
                                          "0.5 / –", "5 / 2", "yes"))
        text = table.text_table([f]).splitlines()
        self.assertEqual(text[0].split()[0], "workload")
        self.assertEqual(len(table.markdown_table([f]).splitlines()), 3)


class Rows(unittest.TestCase):
    def test_names_are_unique_and_sets_known(self):
        names = [(r.set, r.name) for r in rows.all_rows(4)]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({r.set for r in rows.all_rows(4)}, set(rows.SETS))

    def test_threads_go_up_to_all_cores(self):
        self.assertEqual([r.threads for r in rows.thread_curve(6)], [1, 2, 4, 6])
        self.assertEqual([r.threads for r in rows.thread_curve(1)], [1])


class Plots(unittest.TestCase):
    def test_lines_lie_within_the_picture_and_skip_what_is_missing(self):
        svg = plots.picture("t", "layers", {"anew": [(2, 1.0), (4, 2.0)], "jax": [(2, 3.0)]})
        self.assertEqual(svg.count("<circle"), 3)
        self.assertIn("layers", svg)

    def test_ticks_are_of_one_two_five(self):
        self.assertEqual(plots.ticks(0.3, 40), [0.5, 1, 2, 5, 10, 20])
        self.assertEqual(plots.ticks(1e-3, 1e3), [1e-3, 1e-2, 0.1, 1, 10, 100, 1e3])


if __name__ == "__main__":
    unittest.main()
