#!/usr/bin/env python3
"""All-reduce of PyTorch, every element compared with the sum: Gloo, or NCCL where there is a GPU.

    tasuki run --resident -n 4 python3 all_reduce.py        # or torchrun, or RANK, WORLD_SIZE, ... by hand

Prints for each size the best of five times and the rate of the bus, 2 (n - 1) / n times the bytes, by which
rings of different lengths compare."""

import time

import torch
import torch.distributed as dist


def main():
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", init_method="env://")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for length in (256, 16 << 10, 1 << 20, 4 << 20):
        pattern = torch.arange(length, device=device) % 7
        own = (pattern + rank + 1).float()
        expected = (ranks * pattern + ranks * (ranks + 1) // 2).float()
        best = float("inf")
        for _ in range(5):
            reduced = own.clone()
            dist.barrier()
            begun = time.perf_counter()
            dist.all_reduce(reduced)
            right = torch.equal(reduced, expected)  # waits for a GPU
            best = min(best, time.perf_counter() - begun)
            if not right:
                raise SystemExit(f"rank {rank}: {4 * length} bytes: wrong sums")
        if rank == 0:
            rate = 4 * length * 8 * 2 * (ranks - 1) / ranks / best / 1e9
            print(f"{4 * length:>9} bytes {best * 1e3:10.2f} ms {rate:8.3f} Gbit/s", flush=True)
    dist.destroy_process_group()


main()
