"""UDP flows in turn: `send ADDRESS PORT FLOWS COUNT` sends COUNT datagrams of each flow, slowly;
`serve ADDRESS PORT FLOWS COUNT` counts them until all have come or nothing comes for five seconds, and prints
how many came of each flow."""

import socket
import sys
import time

role, address, port, flows, count = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
LENGTH = 1000

if role == "serve":
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # SO_RCVBUFFORCE: room for everything, however long this process is kept off its processor.
    receiver.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
    receiver.bind((address, port))
    receiver.settimeout(30)
    print("listening", flush=True)
    came = [0] * flows
    try:
        while sum(came) < flows * count:
            came[receiver.recv(LENGTH)[0]] += 1
            receiver.settimeout(5)
    except TimeoutError:
        pass
    print(*came)
else:
    senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(flows)]
    for _ in range(count):
        for flow, sender in enumerate(senders):
            sender.sendto(bytes([flow]) * LENGTH, (address, port))
            # Never faster than this, not even to catch up: queues must not overflow.
            time.sleep(0.0007)
