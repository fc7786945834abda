"""Raw Ethernet frames for tests: `frames.py send NIC COUNT [BYTES]`, `frames.py count NIC` (until SIGTERM).

Every frame carries its number and a checksum, so that doubled and changed frames can be told.
"""
import signal
import socket
import struct
import sys
import zlib

ETHERTYPE = 0x88B5  # IEEE 802: local experimental
SO_RCVBUFFORCE = 33  # include/uapi/asm-generic/socket.h; Python does not name it


def send(nic, count, size):
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((nic, 0))
    head = b"\xff" * 6 + out.getsockname()[4] + struct.pack(">H", ETHERTYPE)
    for number in range(count):
        body = struct.pack(">I", number).ljust(size - len(head) - 4, b"\xa5")
        out.send(head + body + struct.pack(">I", zlib.crc32(body)))


def count(nic):
    source = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    source.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    source.bind((nic, ETHERTYPE))
    seen, doubled, damaged = set(), 0, 0
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    source.settimeout(0.05)
    print("ready", flush=True)
    while True:
        try:
            frame = source.recv(65536)
        except TimeoutError:
            # Everything that was sent before the signal has arrived: the wire holds nothing back.
            if stopping:
                break
            continue
        body, check = frame[14:-4], frame[-4:]
        if struct.pack(">I", zlib.crc32(body)) != check:
            damaged += 1
            continue
        number = struct.unpack(">I", body[:4])[0]
        doubled += number in seen
        seen.add(number)
    print(len(seen), doubled, damaged, flush=True)


if sys.argv[1] == "send":
    send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 100)
else:
    count(sys.argv[2])
