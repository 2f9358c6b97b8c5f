"""The machine that gem5 simulates: gem5.fast machine.py --cores 16 [options] PROGRAM [ARGUMENTS]

It has nodes of equally many cores. A node is a mesh of tiles: a core, its L1, and a bank of the shared L2, which is
the directory of its lines. Page p has its home on node p % nodes: in its banks of the L2, and in its memory. The
protocol is the simulator's, MESI_Two_Level or MOESI_CMP_directory; the clock is 3 GHz, latencies are cycles. Programs
run by system-call emulation, thread i on core i.
"""
import argparse
import math
import sys

import m5
from m5.defines import buildEnv
from m5.objects import *

parser = argparse.ArgumentParser()
parser.add_argument("--cores", type=int, required=True, help="a power of two")
parser.add_argument("--nodes", type=int, default=1, help="likewise")
parser.add_argument("--links", choices=("line", "ring", "star"), default="line", help="how nodes are joined")
parser.add_argument("--cross", type=int, default=100, help="from one node to the next")
parser.add_argument("--cpu", choices=("in-order", "out-of-order", "wide", "mixed"), default="in-order",
                    help="mixed: half of the first two each")
parser.add_argument("--input", default="/dev/null", help="the program's standard input")
parser.add_argument("--quick-start", action="store_true", help="x86-64: no caches, no time until the program says so")
parser.add_argument("--pool", action="store_true", help="map the pages of barriers.cc, whose homes are known")
parser.add_argument("--env", action="append", default=[], help="NAME=VALUE")
parser.add_argument("--sys", help="a folder that the program finds as /sys")
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()
N, S = args.cores, args.nodes
PER, BITS, NODE_BITS = N // S, int(math.log2(N)), int(math.log2(S))
assert 1 << BITS == N and 1 << NODE_BITS == S and S <= N
COLUMNS = 1 << (int(math.log2(PER)) + 1) // 2
ROWS = PER // COLUMNS
PAGE_BITS, LINE_BITS = 12, 6
# The upper bits of a bank's number are the node's, the lowest of the page's.
BANK_LOW_BIT = PAGE_BITS + NODE_BITS - BITS if S > 1 else LINE_BITS
PROTOCOL = buildEnv["PROTOCOL"]
MOESI = PROTOCOL == "MOESI_CMP_directory"
MESH_HOP, L2_LATENCY = 2, 12  # as on servers of 2015 to 2024: some 70 cycles from core to core of a small mesh
MESH_BYTES, CROSS_BYTES, CROSS_LINKS = 32, 16, 2

system = System(cache_line_size=1 << LINE_BITS, mem_ranges=[AddrRange("1GB")],
                mem_mode="atomic_noncaching" if args.quick_start else "timing")
system.clk_domain = SrcClockDomain(clock="3GHz", voltage_domain=VoltageDomain())


with open(args.command[0], "rb") as program:
    ARM = program.read(20)[18] == 183  # ELF's e_machine: EM_AARCH64
ARM_ROOT = "/usr/aarch64-linux-gnu"  # what a cross compiler comes with
if ARM:
    m5.core.setInterpDir(ARM_ROOT)
IN_ORDER = ArmTimingSimpleCPU if ARM else X86TimingSimpleCPU
OUT_OF_ORDER = ArmO3CPU if ARM else X86O3CPU


# Instructions, loads, stores under way, not begun yet, registers: of a small core, of a server's from 2015 on.
WINDOWS = {"out-of-order": (64, 24, 24, 32, 128), "mixed": (64, 24, 24, 32, 128), "wide": (224, 72, 56, 97, 280)}


def core(i):
    if args.cpu == "in-order" or args.cpu == "mixed" and i >= N // 2:
        return IN_ORDER(cpu_id=i)
    stages = ("fetch", "decode", "rename", "dispatch", "issue", "wb", "commit", "squash")
    names = ("numROBEntries", "LQEntries", "SQEntries", "numIQEntries", "numPhysIntRegs")
    return OUT_OF_ORDER(cpu_id=i, **dict(zip(names, WINDOWS[args.cpu])), **{f"{stage}Width": 4 for stage in stages})


cpus = system.cpu = [core(i) for i in range(N)]
later = cpus if args.quick_start else []
if later:
    cpus = system.quick = [X86NonCachingSimpleCPU(cpu_id=i) for i in range(N)]
# With a backing store, what system calls read and write never meets a line that is under way.
ruby = system.ruby = RubySystem(number_of_virtual_networks=3, access_backing_store=True)
ruby.phys_mem = SimpleMemory(range=system.mem_ranges[0], in_addr_map=False)
net = ruby.network = SimpleNetwork(ruby_system=ruby, netifs=[], number_of_virtual_networks=3)


def joined(controller, sends, receives):
    for name in sends:
        setattr(controller, name, MessageBuffer(out_port=net.in_port))
    for name in receives:
        setattr(controller, name, MessageBuffer(in_port=net.out_port))
    return controller


def l1(i):
    data = RubyCache(size="32kB", assoc=8, start_index_bit=LINE_BITS, is_icache=False)
    code = RubyCache(size="32kB", assoc=8, start_index_bit=LINE_BITS, is_icache=True)
    found = L1Cache_Controller(version=i, L1Icache=code, L1Dcache=data, send_evictions=True, ruby_system=ruby,
                               clk_domain=system.clk_domain, transitions_per_cycle=4)
    found.sequencer = RubySequencer(version=i, dcache=data, clk_domain=system.clk_domain, ruby_system=ruby)
    found.mandatoryQueue = MessageBuffer()
    if MOESI:
        found.triggerQueue = MessageBuffer(ordered=True)
    else:
        found.optionalQueue, found.enable_prefetch, found.prefetcher = MessageBuffer(), False, RubyPrefetcher()
        found.l2_select_num_bits = BITS
        if S > 1:  # Only a patched gem5 can be told so.
            found.l2_select_low_bit = BANK_LOW_BIT
    return joined(found, ("requestFromL1Cache", "responseFromL1Cache", *([] if MOESI else ["unblockFromL1Cache"])),
                  ("requestToL1Cache", "responseToL1Cache"))


def l2(i):
    bank = RubyCache(size="1MB", assoc=16, start_index_bit=LINE_BITS)
    found = L2Cache_Controller(version=i, L2cache=bank, ruby_system=ruby, transitions_per_cycle=4)
    if not MOESI:
        found.l2_request_latency = found.l2_response_latency = L2_LATENCY
        return joined(found, ("DirRequestFromL2Cache", "L1RequestFromL2Cache", "responseFromL2Cache"),
                      ("unblockToL2Cache", "L1RequestToL2Cache", "responseToL2Cache"))
    found.request_latency = found.response_latency = L2_LATENCY
    found.addr_ranges = [AddrRange(0, size=system.mem_ranges[0].size(), intlvHighBit=BANK_LOW_BIT + BITS - 1,
                                   intlvBits=BITS, intlvMatch=i)]
    found.triggerQueue = MessageBuffer(ordered=True)
    return joined(found, ("GlobalRequestFromL2Cache", "L1RequestFromL2Cache", "responseFromL2Cache"),
                  ("GlobalRequestToL2Cache", "L1RequestToL2Cache", "responseToL2Cache"))


def memory(i):
    part = {"intlvHighBit": PAGE_BITS + NODE_BITS - 1, "intlvBits": NODE_BITS, "intlvMatch": i} if S > 1 else {}
    mine = AddrRange(0, size=system.mem_ranges[0].size(), **part)
    found = Directory_Controller(version=i, directory=RubyDirectoryMemory(), addr_ranges=[mine], ruby_system=ruby)
    found.dram = SimpleMemory(range=mine, latency="60ns", bandwidth="20GB/s")
    found.memory_out_port = found.dram.port
    found.requestToMemory, found.responseFromMemory = MessageBuffer(), MessageBuffer()
    if MOESI:
        found.triggerQueue = MessageBuffer(ordered=True)
    return joined(found, ("responseFromDir", *(["forwardFromDir"] if MOESI else [])), ("requestToDir", "responseToDir"))


ruby.l1s, ruby.l2s = [l1(i) for i in range(N)], [l2(i) for i in range(N)]
ruby.memories = [memory(i) for i in range(S)]
STAR = args.links == "star"
routers = net.routers = [Switch(router_id=i) for i in range(N + STAR)]  # a tile's each, and the star's middle
places = [*enumerate(ruby.l1s), *enumerate(ruby.l2s), *((i * PER, m) for i, m in enumerate(ruby.memories))]
net.ext_links = [SimpleExtLink(link_id=k, ext_node=controller, int_node=routers[i], latency=1)
                 for k, (i, controller) in enumerate(places)]
links = []


def link(a, b, latency, weight, width):
    for x, y in ((a, b), (b, a)):
        links.append(SimpleIntLink(link_id=len(links), src_node=routers[x], dst_node=routers[y], latency=latency,
                                   weight=weight, bandwidth_factor=width))


for tile in range(N):
    row, column = tile % PER // COLUMNS, tile % COLUMNS
    if column + 1 < COLUMNS:
        link(tile, tile + 1, MESH_HOP, 1, MESH_BYTES)
    if row + 1 < ROWS:
        link(tile, tile + COLUMNS, MESH_HOP, 2, MESH_BYTES)  # rows first
for node in range(S - (args.links == "line")):
    if STAR:
        link(node * PER, N, args.cross // 2, 100, CROSS_BYTES)
        continue
    for k in range(min(CROSS_LINKS, ROWS)):  # from the east side of a mesh to the west side of the next
        row = k * ROWS // min(CROSS_LINKS, ROWS) * COLUMNS
        east, west = node * PER + row + COLUMNS - 1, (node + 1) % S * PER + row
        link(east, west, args.cross, 100, CROSS_BYTES)
net.int_links = links
net.setup_buffers()
ruby.num_of_sequencers = N
ruby.sys_port_proxy = RubyPortProxy(ruby_system=ruby)
system.system_port = ruby.sys_port_proxy.in_ports

process = Process(cmd=args.command, input=args.input, env=args.env + ["QUICK_START=1"] * args.quick_start,
                  maxStackSize="8MiB")
system.workload = SEWorkload.init_compatible(args.command[0])
for found, cpu in zip(ruby.l1s, cpus):
    cpu.createInterruptController()
    found.sequencer.connectCpuPorts(cpu)
for cpu in [*cpus, *later]:
    cpu.switched_out = cpu in later
    cpu.workload = process
    cpu.createThreads()
paths = {"/sys": args.sys} if args.sys else {}
if ARM:
    paths["/lib"] = f"{ARM_ROOT}/lib"
system.redirect_paths = [RedirectPath(app_path=path, host_paths=[folder]) for path, folder in paths.items()]
root = Root(full_system=False, system=system)
m5.instantiate()
if args.pool:
    process.map(0x7000000000, system.mem_ranges[0].size() // 2, 64 << 20, True)
start, end = 0, m5.simulate()
if end.getCause() == "switchcpu":
    start = m5.curTick()
    m5.switchCpus(system, list(zip(cpus, later)), verbose=False)
    end = m5.simulate()
print(f"END {(m5.curTick() - start) / 333:.0f} cycles {PROTOCOL}: {end.getCause()}", flush=True)
sys.exit(end.getCode())  # the program's
