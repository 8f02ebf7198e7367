"""sandbox.py - a command under the sandbox of a systemd unit, where no systemd runs

Usage: sandbox.py UNIT COMMAND [ARGUMENT...]      as root
       sandbox.py --list UNIT                     which lines are applied here, which are not

Reads the unit's own lines and applies each with the kernel's calls that systemd uses: mounts
in a namespace of its own, the bounding set, no_new_privs, seccomp filters whose sets come from
`systemd-analyze syscall-filter`.  A line it does not know is an error, so that unit and test
cannot part: it has to be added here, or to NOT_APPLIED with the reason.
"""
import ctypes
import os
import pwd
import resource
import socket
import struct
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS = 0x20000, 0x4000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_SLAVE = 1, 32, 4096, 16384, 1 << 19
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
ALLOW, ERRNO_EPERM = 0x7fff0000, 0x00050000 | 1
CMP_NE, CMP_EQ, CMP_MASKED = 1, 4, 7
CAPABILITIES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE "
    "NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO "
    "SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME "
    "SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG "
    "WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE").split()
# What the manager does, not the kernel: nothing to apply to a process.
NOT_APPLIED = {
    "Type": "the manager's", "ExecStart": "the command is given", "ExecReload": "the manager's",
    "KillMode": "the manager's", "Delegate": "the manager's", "TimeoutStopSec": "the manager's",
    "Restart": "the manager's", "RestartSec": "the manager's", "WatchdogSec": "the manager's",
    "StateDirectory": "the test has folders of its own", "RuntimeDirectory": "likewise",
    "RuntimeDirectoryPreserve": "the manager's",
}


def read_unit(path):
    """The lines of [Service], in order."""
    lines, here = [], False
    with open(path, encoding="utf-8") as unit:
        for line in unit:
            line = line.strip()
            if line.startswith("["):
                here = line == "[Service]"
            elif here and line and line[0] not in "#;":
                lines.append(tuple(line.split("=", 1)))
    return lines


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what + ": " + os.strerror(ctypes.get_errno()))


def mount(source, target, kind, flags, data=None):
    check(LIBC.mount(source.encode(), target.encode(), kind and kind.encode(), flags,
                     data and data.encode()), "mount " + target)


def read_only(path):
    if os.path.exists(path):
        mount(path, path, None, MS_BIND | MS_REC)
        mount(path, path, None, MS_BIND | MS_REMOUNT | MS_RDONLY)


def hide(path, empty):
    """Nobody opens it: an empty thing without any rights lies over it."""
    if os.path.exists(path):
        mount(empty[os.path.isdir(path)], path, None, MS_BIND)


def yes(value):
    return value in ("yes", "true", "1", "on")


class Filter:
    """One seccomp filter that refuses with EPERM, by libseccomp."""

    def __init__(self):
        self.lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.seccomp_init(ALLOW))

    def refuse(self, name, *comparisons):
        """comparisons: (argument, operator, a, b)"""
        number = self.lib.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return  # not of this machine
        rules = b"".join(struct.pack("=II QQ", *one) for one in comparisons)
        if self.lib.seccomp_rule_add_array(self.context, ctypes.c_uint32(ERRNO_EPERM), number,
                                           len(comparisons), rules or None) != 0:
            raise OSError("seccomp has no such rule for " + name)

    def load(self):
        if self.lib.seccomp_load(self.context) != 0:
            raise OSError("seccomp_load failed")


def calls_of(names):
    """System calls of a list with sets, as systemd itself tells them."""
    for name in names:
        if not name.startswith("@"):
            yield name
            continue
        text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name],
                              check=True, capture_output=True, text=True).stdout
        for line in text.splitlines()[1:]:
            word = line.strip()
            if word and not word.startswith("#"):
                yield from calls_of([word])


class Sandbox:
    def __init__(self, lines):
        self.lines = lines
        self.filters = []
        self.kept = None
        self.user = None

    def apply(self):
        check(LIBC.unshare(CLONE_NEWNS | CLONE_NEWUTS), "unshare")
        mount("none", "/", None, MS_REC | MS_SLAVE)
        self.empty = {}
        for folder in (False, True):
            path = "/tmp/.corgi-sandbox-%d-%d" % (os.getpid(), folder)
            if folder:
                os.mkdir(path, 0)
            else:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0))
            self.empty[folder] = path
        for name, value in self.lines:
            if name not in NOT_APPLIED:
                getattr(self, "apply_" + name)(value)
        for folder, path in self.empty.items():
            os.rmdir(path) if folder else os.unlink(path)
        if self.kept is not None:
            self.bound_capabilities()
        if self.user:  # who has no capabilities then
            os.setgroups([])
            os.setresgid(*(self.user.pw_gid,) * 3)
            os.setresuid(*(self.user.pw_uid,) * 3)
        elif self.kept is not None:
            self.drop_capabilities()
        for one in self.filters:
            one.load()

    def unknown(self):
        return [name for name, _ in self.lines
                if name not in NOT_APPLIED and not hasattr(self, "apply_" + name)]

    # ---- a method a line of the unit

    def apply_LimitNOFILE(self, value):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(int(value), hard),) * 2)

    def apply_CapabilityBoundingSet(self, value):
        self.kept = {CAPABILITIES.index(word[4:]) for word in value.split()}

    def apply_User(self, value):
        self.user = pwd.getpwnam(value)

    def bound_capabilities(self):
        for number in range(len(CAPABILITIES)):
            if number not in self.kept:
                LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)

    def drop_capabilities(self):
        own = sum(1 << number for number in self.kept)
        header = struct.pack("=Ii", 0x20080522, 0)
        with open("/proc/self/status", encoding="ascii") as status:
            now = next(int(line.split()[1], 16) for line in status if line.startswith("CapPrm"))
        own &= now
        data = struct.pack("=6I", own & 0xffffffff, own & 0xffffffff, 0, own >> 32, own >> 32, 0)
        check(LIBC.capset(header, data), "capset")

    def apply_NoNewPrivileges(self, value):
        if yes(value):
            check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")

    def apply_RestrictSUIDSGID(self, value):
        if not yes(value):
            return
        one = Filter()
        for bit in (0o4000, 0o2000):
            for name, argument in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1),
                                   ("mkdirat", 2), ("mknod", 1), ("mknodat", 2), ("creat", 1)):
                one.refuse(name, (argument, CMP_MASKED, bit, bit))
            for name, flags, mode in (("open", 1, 2), ("openat", 2, 3)):
                one.refuse(name, (flags, CMP_MASKED, os.O_CREAT, os.O_CREAT),
                           (mode, CMP_MASKED, bit, bit))
        self.filters.append(one)

    def apply_ProtectSystem(self, value):
        if value != "full":
            raise ValueError("ProtectSystem=%s is not known here" % value)
        for path in ("/usr", "/boot", "/efi", "/etc"):
            read_only(path)

    def apply_PrivateMounts(self, value):
        assert yes(value)  # they are

    def apply_ProtectProc(self, value):
        mount("proc", "/proc", "proc", 2 | 4 | 8, "hidepid=" + value)  # nosuid nodev noexec

    def apply_ProtectHostname(self, value):
        if yes(value):
            one = Filter()
            one.refuse("sethostname")
            one.refuse("setdomainname")
            self.filters.append(one)

    def apply_ProtectKernelLogs(self, value):
        if yes(value):
            one = Filter()
            one.refuse("syslog")
            self.filters.append(one)
            hide("/dev/kmsg", self.empty)
            hide("/proc/kmsg", self.empty)

    def apply_ProtectKernelModules(self, value):
        if yes(value):
            one = Filter()
            for name in calls_of(["@module"]):
                one.refuse(name)
            self.filters.append(one)
            hide("/usr/lib/modules", self.empty)

    def apply_RestrictRealtime(self, value):
        if yes(value):
            one = Filter()
            for policy in (1, 2, 6):  # FIFO, RR, DEADLINE
                one.refuse("sched_setscheduler", (1, CMP_EQ, policy, 0))
            self.filters.append(one)

    def apply_RestrictAddressFamilies(self, value):
        kept = sorted(getattr(socket, name, None) or {"AF_IB": 27}[name]
                      for name in value.split())
        one = Filter()
        for family in range(64):
            if family not in kept:
                one.refuse("socket", (0, CMP_EQ, family, 0))
        self.filters.append(one)

    def apply_LockPersonality(self, value):
        if yes(value):
            one = Filter()
            one.refuse("personality", (0, CMP_NE, 0, 0))  # any but the one we have
            self.filters.append(one)

    def apply_SystemCallArchitectures(self, value):
        assert value == "native"  # libseccomp refuses others by itself

    def apply_SystemCallFilter(self, value):
        if not value.startswith("~"):
            raise ValueError("an allow list is not known here")
        one = Filter()
        for name in calls_of(value[1:].split()):
            one.refuse(name)
        self.filters.append(one)

    def apply_SystemCallErrorNumber(self, value):
        assert value == "EPERM"  # as refuse() does


def main():
    listing = sys.argv[1] == "--list"
    sandbox = Sandbox(read_unit(sys.argv[2] if listing else sys.argv[1]))
    if sandbox.unknown():
        sys.exit("sandbox.py does not know these lines of the unit: %s"
                 % " ".join(sandbox.unknown()))
    if listing:
        for name, value in sandbox.lines:
            print("%-26s %s" % (name, NOT_APPLIED.get(name, "applied: " + value)))
        return
    sandbox.apply()
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
