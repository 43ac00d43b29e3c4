"""Programs that compete: child processes that live on, are asked for samples in turns, and sleep while others are
measured."""
import ctypes
import json
import os
import select
import signal
import subprocess
import tempfile
import time

FOREIGN = 0.1  # cores that others may use while a block of samples is taken
SPREAD = 1.3  # a block whose median is further above the best time was disturbed


def median(x):
    return sorted(x)[len(x) // 2]


def best_of(blocks):
    return min(min(b["times_ms"]) for b in blocks)


def undisturbed(blocks):
    """Those during which nobody else used the machine, as far as the kernel and the times tell."""
    best = best_of(blocks) if blocks else 0
    return [b for b in blocks if (b.get("foreign_cores") or 0) <= FOREIGN and median(b["times_ms"]) <= SPREAD * best]


def summary(blocks):
    """The best of all samples; the median of undisturbed ones, where there are any; how many blocks were so."""
    good = undisturbed(blocks)
    times = [t for b in good or blocks for t in b["times_ms"]]
    return {"best_ms": best_of(blocks), "median_ms": median(times), "cpu_ms": min(b["cpu_ms"] for b in blocks),
            "samples": sum(len(b["times_ms"]) for b in blocks), "blocks": len(blocks), "undisturbed": len(good),
            "foreign_cores": median([b.get("foreign_cores") or 0 for b in blocks])}


def end_with_parent():
    """In a new process: whoever is stopped must not outlive the runner, however that ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Child:
    """One program. `info` is its first line once `wait` has returned; where that has `error`, the program is gone."""

    def __init__(self, name, command, environment=None, timeout=300):
        self.name, self.timeout, self.blocks, self.info, self.last_words = name, timeout, [], None, ""
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        start_new_session=True, env={**os.environ, **(environment or {})},
                                        preexec_fn=end_with_parent)
        self.buffer = b""
        self.deadline = time.monotonic() + timeout

    def _line(self):
        """The next line of its output that is JSON; libraries may print others."""
        while True:
            while b"\n" not in self.buffer:
                left = self.deadline - time.monotonic()
                if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                    return {"error": f"no answer within {self.timeout:.0f} s"}
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                if not part:
                    return {"error": self.said() or "ended without a word"}
                self.buffer += part
            line, self.buffer = self.buffer.split(b"\n", 1)
            if line.startswith(b"{"):
                return json.loads(line)

    def said(self):
        """The end of what it wrote beside its answers."""
        self.errors.seek(0)
        return self.errors.read().strip()[-300:]

    def wait(self):
        self.info = self._line()
        if "error" in self.info:
            self.close()
        else:
            self.signal(signal.SIGSTOP)
        return self.info

    def ask(self, seconds):
        """A block of samples. The program runs only while it is asked."""
        self.deadline = time.monotonic() + self.timeout
        self.signal(signal.SIGCONT)
        try:
            self.process.stdin.write(f"{seconds}\n".encode())
            self.process.stdin.flush()
            block = self._line()
        except BrokenPipeError:
            block = {"error": self.said() or "ended without a word"}
        if "error" in block:
            self.info = {**self.info, **block}
            self.close()
            return
        self.signal(signal.SIGSTOP)
        self.blocks.append(block)

    def alive(self):
        return "error" not in self.info

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def close(self):
        if self.errors.closed:
            return
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.last_words = self.said()
        self.errors.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:  # a question it did not live to read
            pass
        self.process.stdout.close()


def start_all(children, makers, at_once, tell):
    """Adds the children that makers start, at most so many at once until each has said its first line."""
    waiting = []
    for name, make in makers:
        tell(f"{name} starts")
        child = make()
        children.append(child)
        waiting.append(child)
        if len(waiting) == at_once:
            waiting.pop(0).wait()
    for child in waiting:
        child.wait()


def race(children, rounds, seconds, repeats, tell, limit=45, clock=time.monotonic):
    """Blocks of samples in turns, every other round backwards; then again whoever has fewer than half of them
    undisturbed. No round but the first begins after `limit` seconds."""
    end = clock() + limit
    for i in range(rounds):
        if i > 0 and clock() > end:
            return
        for c in children[::-1] if i % 2 else children:
            if c.alive():
                tell(f"{c.name}, round {i + 1} of {rounds}")
                c.ask(seconds)
    for i in range(repeats):
        again = [c for c in children if c.alive() and 2 * len(undisturbed(c.blocks)) < rounds]
        if clock() > end:
            return
        for c in again:
            tell(f"{c.name} was disturbed, again ({i + 1} of {repeats})")
            c.ask(seconds)
        if not again:
            break
