"""Somebody who owns the cable n1:eth1 - n2:eth1: reads what n2 sends to n1, and puts other packets on it.

cable.py PID1 PID2      until it is ended; processes on n1 and n2. Of what it has read it sends a copy, and
                        what says that n2 has lost all its rails: without a tag, with a tag that it makes up,
                        and with the tag that it has read.
"""
import ctypes
import os
import socket
import struct
import sys
import time

ALL = 0x0003
OUTGOING = 4
TASUKI = 0x88B5
FLAG_TAG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def end_of_cable(pid):
    with open(f"/proc/{pid}/ns/net") as namespace:
        if LIBC.setns(namespace.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    end.bind(("eth1", ALL))
    return end


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def internet_checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet_at(frame):
    """Where the packet begins in an Ethernet frame; None if there is none."""
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == TASUKI:
        start = 14
    elif kind == 0x0800 and frame[14] == 0x45 and frame[23] == socket.IPPROTO_UDP:
        start = 42
    else:
        return None
    packet = frame[start:]
    return start if len(packet) >= 35 and packet[:2] == b"\x54\x01" and packet[16:20] != bytes(4) else None


def carried(frame, start, packet):
    """The packet in an Ethernet frame like that one."""
    head = bytearray(frame[:start])
    if start == 42:
        struct.pack_into("!H", head, 16, 28 + len(packet))
        struct.pack_into("!H", head, 24, 0)
        struct.pack_into("!H", head, 24, internet_checksum(bytes(head[14:34])))
        struct.pack_into("!HH", head, 38, 8 + len(packet), 0)
    return (bytes(head) + packet).ljust(60, b"\0")


def forged(packet, tag, serial):
    # rails: change 2^40, none of them.
    frames = b"\x06\xfd" + (1 << 40).to_bytes(6, "little") + b"\0"
    head = bytearray(packet[:28])
    head[2] = FLAG_TAG if tag else 0
    struct.pack_into("<H", head, 4, 32 + len(frames) + len(tag))
    head[6:12] = ((1 << 40) + serial).to_bytes(6, "little")
    sum_ = crc32c(bytes(head) + frames + tag)
    return bytes(head) + struct.pack("<I", sum_) + frames + tag


def main():
    pid1, pid2 = sys.argv[1:3]
    reads, sends = end_of_cable(pid1), end_of_cable(pid2)
    serial = 0
    while True:
        frame, (_, _, kind, _, _) = reads.recvfrom(65536)
        start = packet_at(frame) if kind != OUTGOING else None
        if start is None:
            continue
        packet = frame[start : start + struct.unpack_from("<H", frame, start + 4)[0]]
        for tag in b"", os.urandom(16), packet[-16:]:
            serial += 1
            sends.send(carried(frame, start, forged(packet, tag, serial)))
        sends.send(frame)
        time.sleep(0.005)


main()
