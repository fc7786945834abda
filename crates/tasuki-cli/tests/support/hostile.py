"""Throws at UDP ports and NICs what does not belong there.

hostile.py capture NIC PORT COUNT         prints payloads that cross a NIC to a port, in hexadecimal,
                                          one per line
hostile.py capture-raw NIC COUNT          prints frames of Tasuki's own type, likewise
hostile.py attack-raw SEED NIC MAC PAYLOADS   as attack, in frames out of a NIC to a MAC address
hostile.py attack SEED TARGETS PAYLOADS   until it is ended, sends to TARGETS (address:port,...) random
                                          bytes, and PAYLOADS (hexadecimal,...) as they are, cut
                                          short, damaged, lengthened, or with another token under a
                                          right checksum; prints the number of datagrams at its end
"""
import random
import signal
import socket
import struct
import sys
import time

ETHERTYPE = 0x88B5  # docs/reference/wire.md

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def capture(nic, port, count):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    raw.bind((nic, 0))
    seen = 0
    while seen < count:
        frame = raw.recv(65536)
        ip = frame[14:]
        header = (ip[0] & 15) * 4
        if ip[9] != 17 or struct.unpack("!H", ip[header + 2 : header + 4])[0] != port:
            continue
        length = struct.unpack("!H", ip[header + 4 : header + 6])[0]
        payload = ip[header + 8 : header + length]
        if len(payload) >= 33:
            print(payload.hex(), flush=True)
            seen += 1


def capture_raw(nic, count):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    raw.bind((nic, ETHERTYPE))
    for _ in range(count):
        print(raw.recv(65536)[14:].hex(), flush=True)


def with_another_token(payload, rng):
    # docs/reference/wire.md: the token is at 20, the checksum, of all but itself, at 28.
    packet = bytearray(payload)
    packet[20:28] = rng.randbytes(8)
    packet[28:32] = struct.pack("<I", crc32c(bytes(packet[:28] + packet[32:])))
    return bytes(packet)


def damaged(payload, rng):
    packet = bytearray(payload)
    for _ in range(rng.randint(1, 4)):
        packet[rng.randrange(len(packet))] ^= 1 << rng.randrange(8)
    return bytes(packet)


def frame_sender(nic, mac):
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((nic, 0))
    head = bytes.fromhex(mac.replace(":", "")) + out.getsockname()[4] + struct.pack("!H", ETHERTYPE)
    return lambda payload, _: out.send(head + payload)


def attack(seed, targets, payloads, send=None):
    rng = random.Random(seed)
    send = send or socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto
    forms = [
        lambda: rng.randbytes(rng.randint(0, 1400)),
        lambda: b"\x54\x01" + rng.randbytes(rng.randint(0, 200)),
        lambda: rng.choice(payloads),
        lambda: (lambda p: p[: rng.randrange(len(p))])(rng.choice(payloads)),
        lambda: damaged(rng.choice(payloads), rng),
        lambda: rng.choice(payloads) + rng.randbytes(rng.randint(1, 40)),
        lambda: with_another_token(rng.choice(payloads)[:300], rng),
    ]
    sent, running = 0, True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)
    while running:
        try:
            send(rng.choice(forms)(), rng.choice(targets))
            sent += 1
        except OSError:
            pass
        time.sleep(0.0005)
    print(sent, flush=True)


if sys.argv[1] == "capture":
    capture(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == "capture-raw":
    capture_raw(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "attack-raw":
    payloads = [bytes.fromhex(word) for word in sys.argv[5].split(",")]
    attack(int(sys.argv[2]), [None], payloads, frame_sender(sys.argv[3], sys.argv[4]))
else:
    addresses = [target.rsplit(":", 1) for target in sys.argv[3].split(",")]
    attack(
        int(sys.argv[2]),
        [(address, int(port)) for address, port in addresses],
        [bytes.fromhex(word) for word in sys.argv[4].split(",")],
    )
