"""Which wires the packets between hosts take, seen where they come in.

paths.py ADDRESS           answers probes (UDP, port 7777) at ADDRESS and notes every one that comes in on an
                           eth interface
  go FLOWS ADDRESS...      on standard input: sends a probe to every address from FLOWS ports of its own,
                           again until it is answered;
                           prints "all answered", or who never answered
  end of standard input    prints what came in, a line each: interface, MAC address of the sender, source,
                           destination, port of the client, and whether it asks or answers
"""
import os
import select
import socket
import struct
import sys

PORT, FIRST, TRIES, MAGIC = 7777, 20000, 60, b"tasuki path probe"
own = sys.argv[1]
seen = set()

tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
# All that a host passes on at most, without loss: SO_RCVBUFFORCE.
tap.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
server.bind((own, PORT))


def note():
    frame, (name, _, kind, *_) = tap.recvfrom(256)
    packet = frame[14:]
    head = (packet[0] & 15) * 4
    # 0: for this host, by its MAC address. 17: UDP.
    if not name.startswith("eth") or kind != 0 or packet[9] != 17 or MAGIC not in packet:
        return
    ports = struct.unpack("!HH", packet[head : head + 4])
    client, what = (ports[0], "asks") if ports[1] == PORT else (ports[1], "answers")
    addresses = [socket.inet_ntoa(packet[at : at + 4]) for at in (12, 16)]
    seen.add((name, frame[6:12].hex(":"), *addresses, client, what))


def serve(seconds, extra=()):
    """Does what there is to do for so long; returns those of `extra` that have something to read."""
    ready, _, _ = select.select([tap, server, *extra], [], [], seconds)
    if tap in ready:
        note()
    if server in ready:
        data, sender = server.recvfrom(2048)
        server.sendto(data, sender)
    return [one for one in extra if one in ready]


def go(flows, addresses):
    clients = []
    for number in range(flows):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.bind((own, FIRST + number))
        clients.append(client)
    left = {(client, address) for client in clients for address in addresses}
    for _ in range(TRIES):
        for client, address in sorted(left, key=lambda flow: (flow[0].fileno(), flow[1])):
            try:
                client.sendto(MAGIC, (address, PORT))
            except OSError:
                pass  # No route yet: again later.
            serve(0)
        while left:
            ready = serve(0.5, clients)
            for client in ready:
                _, (address, _) = client.recvfrom(2048)
                left.discard((client, address))
            if not ready and not select.select([tap, server, *clients], [], [], 0)[0]:
                break
        if not left:
            return print("all answered", flush=True)
    print("no answer from", *sorted({address for _, address in left}), flush=True)


print("ready", flush=True)
buffer = b""
while True:
    if not serve(None, [sys.stdin]):
        continue
    data = os.read(0, 4096)
    if not data:
        break
    buffer += data
    while b"\n" in buffer:
        line, buffer = buffer.split(b"\n", 1)
        _, flows, *addresses = line.decode().split()
        go(int(flows), addresses)
while select.select([tap], [], [], 0)[0]:
    note()
for one in sorted(seen):
    print(*one)
