"""all_reduce_rates.py BACKEND: how long an all-reduce of floats takes, by size. Start it on every rank:

    eval "$(tasuki env --for torch)"; python3 all_reduce_rates.py tasuki     # or gloo
"""

import sys
import time

import torch
import torch.distributed as dist

if sys.argv[1] == "tasuki":
    import tasuki_torch  # noqa: F401, which makes the backend known

dist.init_process_group(sys.argv[1])
for size in [8, 1 << 10, 48 << 10, 1 << 20, 16 << 20]:
    data = torch.ones(size // 4)
    rounds = max(4, min(1000, (80 << 20) // size))
    for _ in range(3):
        dist.all_reduce(data)
    dist.barrier()
    start = time.perf_counter()
    for _ in range(rounds):
        dist.all_reduce(data)
    taken = time.perf_counter() - start
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"{size} bytes: {taken / rounds * 1e6:.0f} us", flush=True)
