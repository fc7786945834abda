"""Sends an ICMP echo to every address given, up to ten times, and names those that never answer."""
import os
import select
import socket
import struct
import sys


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def answers(address, number):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        body = struct.pack("!HH", os.getpid() & 0xFFFF, number)
        echo = struct.pack("!BBH", 8, 0, checksum(b"\x08\x00\x00\x00" + body)) + body
        icmp.sendto(echo, (address, 0))
        while select.select([icmp], [], [], 2)[0]:
            packet, (sender, _) = icmp.recvfrom(2048)
            reply = packet[(packet[0] & 15) * 4 :]
            if sender == address and reply[0] == 0 and reply[4:8] == body:
                return True
    return False


def reached(address):
    for number in range(10):
        try:
            if answers(address, number):
                return True
        except OSError:
            pass
    return False


missing = [address for address in sys.argv[1:] if not reached(address)]
if missing:
    sys.exit("no answer from " + ", ".join(missing))
