"""Strangers who read packets of Tasuki and put others on the wire.

cable.py owner PID1 PID2   somebody who owns the cable n1:eth1 - n2:eth1, until ended; processes on n1 and n2.
                           Of what is read from n2 to n1 a copy is sent, and what says that n2 has lost all
                           its rails: without a tag, with one that is made up, and with the one that was read.
cable.py record NIC        prints frames with packets to this host, in hexadecimal, until ended
cable.py inject NIC        on another host: reads such lines, and sends of each what `owner` sends, the packet
                           with one bit changed under a right checksum, and the end cut off; with the source
                           of the recorded frame and with its own; as frames, and by a socket if it was UDP
"""
import ctypes
import os
import random
import socket
import struct
import sys
import time

ALL = 0x0003
OUTGOING = 4
TASUKI = 0x88B5
FLAG_TAG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def opened(nic):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    end.bind((nic, ALL))
    return end


def end_of_cable(pid):
    with open(f"/proc/{pid}/ns/net") as namespace:
        if LIBC.setns(namespace.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    return opened("eth1")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
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


def summed(packet):
    """The packet with the checksum that its bytes ask for."""
    return packet[:28] + struct.pack("<I", crc32c(packet[:28] + packet[32:])) + packet[32:]


def forged(packet, tag, serial):
    # rails: change 2^40, none of them.
    frames = b"\x06\xfd" + (1 << 40).to_bytes(6, "little") + b"\0"
    head = bytearray(packet[:28])
    head[2] = FLAG_TAG if tag else 0
    struct.pack_into("<H", head, 4, 32 + len(frames) + len(tag))
    head[6:12] = ((1 << 40) + serial).to_bytes(6, "little")
    return summed(bytes(head) + bytes(4) + frames + tag)


def changed(packet):
    """One bit of the frames changed; the tag and the packet's length stay."""
    at = random.randrange(32, len(packet) - 16)
    other = bytearray(packet)
    other[at] ^= 1 << random.randrange(8)
    return summed(bytes(other))


def cut(packet):
    other = bytearray(packet[:-1])
    struct.pack_into("<H", other, 4, len(other))
    return summed(bytes(other))


def frames_to_here(end):
    """Frames that arrive here with packets, where each packet begins, and the packet."""
    while True:
        frame, (_, _, kind, _, _) = end.recvfrom(65536)
        start = packet_at(frame) if kind != OUTGOING else None
        if start is not None:
            yield frame, start, frame[start : start + struct.unpack_from("<H", frame, start + 4)[0]]


def own(pid1, pid2):
    reads, sends = end_of_cable(pid1), end_of_cable(pid2)
    serial = 0
    for frame, start, packet in frames_to_here(reads):
        for tag in b"", os.urandom(16), packet[-16:]:
            serial += 1
            sends.send(carried(frame, start, forged(packet, tag, serial)))
        sends.send(frame)
        time.sleep(0.005)


def record(nic):
    end = opened(nic)
    here = end.getsockname()[4]
    for frame, _, _ in frames_to_here(end):
        if frame[:6] == here:
            print(frame.hex(), flush=True)
            time.sleep(0.005)


def inject(nic):
    end, datagrams = opened(nic), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here = end.getsockname()[4]
    serial = 0
    for line in sys.stdin:
        frame = bytes.fromhex(line)
        start = packet_at(frame)
        packet = frame[start : start + struct.unpack_from("<H", frame, start + 4)[0]]
        serial += 3
        tags = enumerate((b"", os.urandom(16), packet[-16:]))
        packets = [forged(packet, tag, serial + number) for number, tag in tags]
        packets += [packet, cut(packet)] + ([changed(packet)] if len(packet) > 48 else [])
        # With the source of another host a switch is led astray, which loses packets.
        source = frame[6:12] if serial % 30 == 0 else here
        for other in packets:
            whole = carried(frame, start, other)
            end.send(whole[:6] + source + whole[12:])
            if start == 42:
                address = socket.inet_ntoa(frame[30:34]), struct.unpack_from("!H", frame, 36)[0]
                datagrams.sendto(other, address)


if sys.argv[1] == "owner":
    own(*sys.argv[2:4])
elif sys.argv[1] == "record":
    record(sys.argv[2])
else:
    inject(sys.argv[2])
