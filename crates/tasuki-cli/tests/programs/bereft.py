"""bereft.py BACKEND [any]: the last rank kills itself; the others print `told` and what they are told, twice.
With `any` they wait for a message of any rank then."""

import os
import signal
import sys

import torch
import torch.distributed as dist

if sys.argv[1] == "tasuki":
    import tasuki_torch  # noqa: F401, which makes the backend known

dist.init_process_group(sys.argv[1])
data = torch.ones(1000)
for _ in range(200):
    dist.all_reduce(data, op=dist.ReduceOp.MAX)
if dist.get_rank() == dist.get_world_size() - 1:
    os.kill(os.getpid(), signal.SIGKILL)
for _ in range(2):
    try:
        if "any" in sys.argv:
            dist.recv(data)
        while True:
            dist.all_reduce(data, op=dist.ReduceOp.MAX)
    except RuntimeError as error:
        print("told", error)
