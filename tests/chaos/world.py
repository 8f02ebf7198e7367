"""world.py - the world around a daemon under chaos: its clock, its disk, its GPUs

The figures of chaos_preload.c are written through a mapped file.  The disk is a tmpfs of our
own where a mount is allowed: it is full when it is made no larger than what it holds, which
is the kernel's own ENOSPC; elsewhere the preloaded library refuses what SQLite writes.
"""
import mmap
import os
import struct
import subprocess

FIELDS = ("clock_jump_ms", "sync_delay_ms", "disk_full", "lost_per_mille", "lost")
DISK_MB = 1024
GPUS = 2
# Cards of its own: those of other tests that run beside it draw for whoever names them.
SCRIPT = "driver fake-550.54\n" + "".join(
    f'gpu uuid=GPU-chaos{os.getpid() % 1000:03}-0000-0000-0000-{i:012} '
    'name="Tesla V100-SXM2-16GB" arch=5 device_id=0x1db110de memory=16384 limit=300 '
    "min=150 max=300\n  power 0 40\n  follow 100 40 2000\n" for i in range(GPUS))


def may_mount():
    """Are we in a mount namespace of our own?  run says so in the environment."""
    return os.environ.get("CHAOS_MOUNTS") == "1"


class World:
    def __init__(self, folder, build):
        self.folder = folder
        self.build = build
        self.disk = os.path.join(folder, "disk")
        self.cards = os.path.join(folder, "unplugged")
        os.makedirs(self.disk)
        os.makedirs(self.cards)
        path = os.path.join(folder, "world")
        with open(path, "wb") as file:
            file.write(bytes(8 * len(FIELDS)))
        os.chmod(path, 0o666)  # jobs of other users have it too
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8 * len(FIELDS))
        with open(os.path.join(folder, "script"), "w", encoding="ascii") as file:
            file.write(SCRIPT)
        self.mounted = may_mount()
        if self.mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dm,mode=755" % DISK_MB,
                            "corgi-chaos", self.disk], check=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.disk], check=False)

    def set(self, name, value):
        struct.pack_into("q", self.map, 8 * FIELDS.index(name), value)

    def get(self, name):
        return struct.unpack_from("q", self.map, 8 * FIELDS.index(name))[0]

    def environment(self):
        """Of a daemon in this world."""
        own = dict(os.environ)
        own.update({
            "LD_PRELOAD": os.path.join(self.build, "tests/libchaos_preload.so"),
            "CHAOS_WORLD": os.path.join(self.folder, "world"),
            "LD_LIBRARY_PATH": os.path.join(self.build, "tests/fake"),
            "CORGI_FAKE_NVML": os.path.join(self.folder, "script"),
            "CORGI_FAKE_NVML_STATE": os.path.join(self.folder, "hardware"),
            "CORGI_FAKE_NVML_UNPLUGGED": self.cards})
        return own

    def probe(self):
        """A corgi-probe of the same world: a jump of the clock is everybody's."""
        path = os.path.join(self.folder, "bin", "corgi-probe")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexport LD_PRELOAD=%s/tests/libchaos_preload.so "
                       "CHAOS_WORLD=%s/world\nexec %s/bin/corgi-probe \"$@\"\n"
                       % (self.build, self.folder, self.build))
        os.chmod(path, 0o755)
        return path

    def resize(self, kilobytes):
        subprocess.run(["mount", "-o", "remount,size=%dk" % kilobytes, self.disk], check=True,
                       stderr=subprocess.DEVNULL)

    def fill_disk(self):
        if not self.mounted:
            self.set("disk_full", 1)
            return
        for _ in range(50):  # it may grow while we look
            used = os.statvfs(self.disk)
            kilobytes = (used.f_blocks - used.f_bfree) * used.f_frsize // 1024
            try:
                self.resize(kilobytes)
                return
            except subprocess.CalledProcessError:
                continue
        raise RuntimeError("the disk could not be made full")

    def free_disk(self):
        self.set("disk_full", 0)
        if self.mounted:
            self.resize(1024 * DISK_MB)

    def unplug(self, card):
        with open(os.path.join(self.cards, str(card)), "w", encoding="ascii"):
            pass

    def plug(self, card):
        os.unlink(os.path.join(self.cards, str(card)))
