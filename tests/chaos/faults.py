"""faults.py - what can go wrong, each with a beginning and an end

A fault is drawn with its figures from the arena's seed, begins, lasts, and ends; from its end
on the arena has five seconds to answer as always.  FAULTS says which belong to which engine.
"""
import os
import signal
import subprocess
import sys

from world import GPUS

HERE = os.path.dirname(os.path.abspath(__file__))


class Fault:
    shortest_s, longest_s = 0.5, 4.0

    def __init__(self, arena):
        self.arena = arena
        self.random = arena.random
        self.lasts_s = self.random.uniform(self.shortest_s, self.longest_s)
        self.draw()

    def draw(self):
        pass

    def begin(self):
        pass

    def end(self):
        pass

    def figures(self):
        return ""


class KillDaemon(Fault):
    """kill -9, and a new one after a while."""
    shortest_s, longest_s = 0.0, 3.0

    def begin(self):
        if self.arena.process.poll() is None:
            self.arena.end(signal.SIGKILL)

    def end(self):
        if self.arena.process.poll() is not None:
            self.arena.launch()


class RestartDaemon(Fault):
    """SIGTERM, and a new one at once."""
    shortest_s, longest_s = 0.0, 0.5

    def begin(self):
        if self.arena.process.poll() is None:
            status = self.arena.end(signal.SIGTERM)
            if status != 0 and not self.arena.full:
                self.arena.chaos.violation(self.arena, "ends", "SIGTERM: status %s" % status)

    def end(self):
        if self.arena.process.poll() is not None:
            self.arena.launch()


class StopDaemon(Fault):
    """SIGSTOP, SIGCONT."""

    def begin(self):
        self.process = self.arena.process
        self.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.process.send_signal(signal.SIGCONT)


class OfJob(Fault):
    """Hits a process of a job that runs, when there is one."""
    comm = None

    def pick(self):
        found = [(pid, job) for pid, job, comm in self.arena.processes() if comm == self.comm]
        return self.random.choice(sorted(found)) if found else (None, None)

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def excuse(self, job):
        with self.arena.lock:
            self.arena.excused.setdefault(job, set()).add(type(self).__name__)


class KillProbe(OfJob):
    comm = "corgi-probe"
    shortest_s, longest_s = 0.0, 0.5

    def begin(self):
        pid, job = self.pick()
        if pid:
            self.excuse(job)
            self.signal(pid, signal.SIGKILL)


class KillJob(KillProbe):
    comm = "chaos_job"


class StopProbe(OfJob):
    comm = "corgi-probe"

    def begin(self):
        self.pid, job = self.pick()
        if self.pid:
            self.excuse(job)
            self.signal(self.pid, signal.SIGSTOP)

    def end(self):
        if self.pid:
            self.signal(self.pid, signal.SIGCONT)


class StopJob(StopProbe):
    comm = "chaos_job"


class ClockJump(Fault):
    """Up to two days, both ways, and back."""

    def draw(self):
        self.jump_s = self.random.choice([-1, 1]) * self.random.choice(
            [2, 61, 3600, 86400, 2 * 86400])

    def begin(self):
        self.arena.world.set("clock_jump_ms", 1000 * self.jump_s)

    def end(self):
        self.arena.world.set("clock_jump_ms", 0)

    def figures(self):
        return "%+d s" % self.jump_s


class SlowDisk(Fault):
    def draw(self):
        self.delay_ms = self.random.choice([20, 100, 400, 1500])

    def begin(self):
        self.arena.world.set("sync_delay_ms", self.delay_ms)

    def end(self):
        self.arena.world.set("sync_delay_ms", 0)

    def figures(self):
        return "%d ms a sync" % self.delay_ms


class FullDisk(Fault):
    shortest_s, longest_s = 1.0, 6.0

    def begin(self):
        self.arena.full = True
        self.arena.world.fill_disk()

    def end(self):
        self.arena.world.free_disk()
        self.arena.full = False


class LostReports(Fault):
    shortest_s, longest_s = 2.0, 6.0

    def draw(self):
        self.per_mille = self.random.choice([100, 500, 1000])

    def begin(self):
        self.arena.world.set("lost_per_mille", self.per_mille)

    def end(self):
        self.arena.world.set("lost_per_mille", 0)

    def figures(self):
        return "%d of 1000" % self.per_mille


class GpuGone(Fault):
    shortest_s, longest_s = 1.0, 6.0

    def draw(self):
        self.card = self.random.randrange(GPUS)

    def begin(self):
        self.arena.world.unplug(self.card)

    def end(self):
        self.arena.world.plug(self.card)

    def figures(self):
        return "card %d" % self.card


class LyingProbe(Fault):
    """A stranger with the name and the marks of somebody's probe, who reports for them."""
    shortest_s, longest_s = 1.0, 4.0

    def begin(self):
        with self.arena.lock:
            jobs = sorted(self.arena.known)[-6:]
        self.liars = []
        engine = os.path.join(self.arena.state, "engine")
        for job in jobs[-3:]:
            self.liars.append(subprocess.Popen(
                [sys.executable, os.path.join(HERE, "stranger.py"), "probe",
                 engine, str(job), str(self.lasts_s)],
                env={"CORGI_ENGINE": engine, "CORGI_JOB_ID": str(job), "CORGI_ATTEMPT": "1"},
                stderr=subprocess.DEVNULL))
            self.arena.strangers.add(self.liars[-1].pid)

    def end(self):
        for liar in self.liars:
            liar.kill()
            liar.wait()


class Flood(Fault):
    """A plain user sends all that hurts, over eight connections and to the engine's socket."""
    shortest_s, longest_s = 1.0, 4.0

    def begin(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "stranger.py"), "flood", self.arena.socket,
             os.path.join(self.arena.state, "engine"), str(self.lasts_s),
             str(self.random.randrange(1 << 30))], stderr=subprocess.DEVNULL)

    def end(self):
        self.process.kill()
        self.process.wait()


FAULTS = {
    "local": {"kill daemon": KillDaemon, "restart daemon": RestartDaemon,
              "stop daemon": StopDaemon, "kill probe": KillProbe, "kill job": KillJob,
              "stop probe": StopProbe, "stop job": StopJob, "clock jump": ClockJump,
              "slow disk": SlowDisk, "full disk": FullDisk, "lost reports": LostReports,
              "GPU gone": GpuGone, "lying probe": LyingProbe, "flood": Flood},
    "sim": {"kill daemon": KillDaemon, "restart daemon": RestartDaemon,
            "stop daemon": StopDaemon, "clock jump": ClockJump, "slow disk": SlowDisk,
            "full disk": FullDisk, "flood": Flood},
}
