"""A TCP stream whose two ends say how many bytes there were, with what checksum, and the longest pause in it.

stream.py serve ADDRESS PORT              receives one stream and prints: bytes, checksum, longest pause in ms
stream.py send ADDRESS PORT               sends until its standard input ends and prints: bytes, checksum
"""
import socket, sys, time, zlib, threading

role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if role == "serve":
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, port), family=family)
    print("listening", flush=True)
    stream, _ = listener.accept()
    total = checksum = 0
    pause, last = 0.0, None
    while data := stream.recv(1 << 16):
        now = time.monotonic()
        pause = max(pause, now - (last or now))
        last, total, checksum = now, total + len(data), zlib.crc32(data, checksum)
    print(total, checksum, round(pause * 1000), flush=True)
else:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    stream = socket.create_connection((address, port))
    total = checksum = 0
    while not ended.is_set():
        data = (b"%d " % total) * 4000
        stream.sendall(data)
        total, checksum = total + len(data), zlib.crc32(data, checksum)
    stream.shutdown(socket.SHUT_WR)
    print(total, checksum, flush=True)
