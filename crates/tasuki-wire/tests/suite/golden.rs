//! Packets written out by hand from `docs/reference/wire.md`, field by field; their checksums come from a
//! bit-by-bit CRC.

use tasuki_wire::{
    Ack, Control, Data, Frame, Greeting, Header, Lane, Lanes, Mark, Packet, PacketBuilder, Path, Rail,
    RailList, Rails, RefuseReason, Run, Runs, Secret, Start,
};
use tasuki_wire::{DropReason, JobKey, Party, Tagged};

use crate::independent::unhex;

const PATH: Path = Path { rail: 2, lane: Lane::Udp };
const HEADER: Header =
    Header { path: PATH, number: 0x0605_0403_0201, endpoint: 7, peer: 9, token: 0x8877_6655_4433_2211 };

/// Checks both directions: the frames are emitted as these bytes, and these bytes are parsed as the frames.
fn same(text: &str, header: Header, frames: &[Frame<'_>]) {
    let bytes = unhex(text);
    let packet = Packet::parse(&bytes).expect("a valid packet");
    assert_eq!(packet.header(), &header);
    assert_eq!(packet.frames().collect::<Vec<_>>(), frames);
    let mut buffer = [0xee; 1500];
    let mut builder = PacketBuilder::new(&mut buffer, header).unwrap();
    for frame in frames {
        builder.push(frame).unwrap();
    }
    let len = builder.finish().unwrap();
    assert_eq!(buffer[..len], bytes);
}

const MESSAGES: &str = "
    54 01 00 22         # magic, version, flags, path: rail 2, lane UDP
    5d 00               # length
    01 02 03 04 05 06   # packet number
    07 00 00 00         # endpoint
    09 00 00 00         # peer
    11 22 33 44 55 66 77 88 # token
    85 12 86 f8         # checksum
    10 1b               # eager: tagged, data, charged, ack
    f9 00 01            # position 256
    05                  # seq
    08 07 06 05 04 03 02 01 # tag
    01 00 00 00 00 00 00 00 # data
    03 61 62 63         # len, payload
    11 04               # request: key
    f9 01 01            # position 257
    06                  # seq
    ff ff ff ff ff ff ff ff # key
    fa 00 00 10         # len 1 MiB
    f9 00 20            # early 8192
    02 64 65            # inline, payload
    12                  # data
    f9 02 01            # position 258
    06                  # seq
    02                  # offset
    f9 00 20            # early 8192
    01 66               # len, payload
";

#[test]
fn messages() {
    let eager = Start {
        position: 256,
        seq: 5,
        tag: Some(0x0102_0304_0506_0708),
        internal: false,
        data: Some(1),
        remote_key: None,
        charged: true,
        ack: true,
        len: 3,
        early: 3,
        payload: b"abc",
    };
    let request = Start {
        position: 257,
        seq: 6,
        tag: None,
        internal: false,
        data: None,
        remote_key: Some(u64::MAX),
        charged: false,
        ack: false,
        len: 1 << 20,
        early: 8192,
        payload: b"de",
    };
    let data = Data { position: 258, seq: 6, offset: 2, early: 8192, payload: b"f" };
    same(MESSAGES, HEADER, &[Frame::Start(eager), Frame::Start(request), Frame::Data(data)]);
}

const CONTROL: &str = "
    54 01 00 22  44 00  01 02 03 04 05 06  07 00 00 00  09 00 00 00  11 22 33 44 55 66 77 88  25 a7 9a 24
    13 00 01 f8 f8      # grant: position 0, seq 1, up to 248
    14 01 02            # done: seq 2
    15 02 f9 00 10      # credit: 4096
    16 03 00            # recall: keep 0
    17 04 40            # return: 64
    18 05 01 02 03      # quiesce: epoch 1, frames 2, bytes 3
    19 06 01 04 05      # quiesced
    1a 07 01            # resume
    1b 08 06 07         # bye
";

#[test]
fn control() {
    let said = [
        Control::Grant { seq: 1, upto: 248 },
        Control::Done { seq: 2 },
        Control::Credit { total: 4096 },
        Control::Recall { keep: 0 },
        Control::Return { total: 64 },
        Control::Quiesce { epoch: 1, mark: Mark { frames: 2, bytes: 3 } },
        Control::Quiesced { epoch: 1, mark: Mark { frames: 4, bytes: 5 } },
        Control::Resume { epoch: 1 },
        Control::Bye { mark: Mark { frames: 6, bytes: 7 } },
    ];
    let frames: Vec<Frame<'_>> =
        (0..).zip(said).map(|(position, control)| Frame::Control { position, control }).collect();
    same(CONTROL, HEADER, &frames);
}

const UPKEEP: &str = "
    54 01 00 22  4e 00  01 02 03 04 05 06  07 00 00 00  09 00 00 00  11 22 33 44 55 66 77 88  29 1b 2e 4b
    01                  # ping
    02 45               # ack of rail 5, lane AF_XDP
    19 64 0a 02         # delay 25 us, largest 100, and 10 below it: 90 to 100; two more runs:
    00 03               # ends 2 below 90, and 3 below it: 85 to 88
    51 02               # ends 83 below 85, and 2 below it: 0 to 2
    07 01 00 00 00 00 00 00 00          # probe
    08 02 00 00 00 00 00 00 00 1f dc 05 # probe reply: nonce, rail 31 lane raw, 1500 bytes
    05 03 00 00 00 00 00 00 00 02       # refuse: leaving
    00 00 00 00         # padding
";

#[test]
fn upkeep() {
    let run = |first, last| Run { first, last };
    let runs = [run(90, 100), run(85, 88), run(0, 2)];
    let path = Path { rail: 5, lane: Lane::Xdp };
    let frames = [
        Frame::Ping,
        Frame::Ack(Ack { path, delay_us: 25, runs: Runs::new(&runs) }),
        Frame::Probe { nonce: 1 },
        Frame::ProbeReply { nonce: 2, path: Path { rail: 31, lane: Lane::Raw }, length: 1500 },
        Frame::Refuse { incarnation: 3, reason: RefuseReason::Leaving },
        Frame::Padding(4),
    ];
    same(UPKEEP, HEADER, &frames);
}

const HELLO: &str = "
    54 01 00 00         # rail 0, lane raw
    a9 00
    00 00 00 00 00 00   # the first packet
    07 00 00 00
    00 00 00 00         # no name yet
    11 22 33 44 55 66 77 88
    f5 9a cf 92
    03                  # hello
    01 00 00 00 00 00 00 80 # incarnation of the addressee
    02 00 00 00 00 00 00 00 # proof
    03 00 00 00 00 00 00 00 # incarnation of the sender
    04 00 00 00         # its endpoint id
    05 00 00 00         # its name for the addressee
    00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f # its secret
    00 00 00 00 00 00 00 00 00 00 ff ff 0a 4d 00 01 # 10.77.0.1
    39 30               # port 12345
    a8 61 00 00         # ack delay 25000 us
    06                  # change
    02                  # rails
    00 03 dc 05  e8 03 00 00 # rail 0: raw and UDP, MTU 1500, 1000 Mbit/s
    fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 # fd00::1
    3a 30  02 00 00 00 00 01 # port 12346, MAC
    1f 00 28 23  00 00 00 00 # rail 31: down, MTU 9000, rate unknown
    00 00 00 00 00 00 00 00 00 00 ff ff 0a 4e 00 02 # 10.78.0.2
    00 00  00 00 00 00 00 00
";

#[test]
fn hello() {
    let v4 = |a: [u8; 4]| std::net::Ipv4Addr::from(a).to_ipv6_mapped();
    let rails = [
        Rail {
            rail: 0,
            lanes: Lanes::NONE.with(Lane::Raw).with(Lane::Udp),
            mtu: 1500,
            rate_mbps: 1000,
            address: "fd00::1".parse().unwrap(),
            port: 12346,
            mac: [2, 0, 0, 0, 0, 1],
        },
        Rail {
            rail: 31,
            lanes: Lanes::NONE,
            mtu: 9000,
            rate_mbps: 0,
            address: v4([10, 78, 0, 2]),
            port: 0,
            mac: [0; 6],
        },
    ];
    let greeting = Greeting {
        addressee: 1 << 63 | 1,
        proof: 2,
        incarnation: 3,
        endpoint: 4,
        name: 5,
        secret: Secret(std::array::from_fn(|i| i as u8)),
        identity: v4([10, 77, 0, 1]),
        port: 12345,
        ack_delay_us: 25_000,
        rails: Rails { change: 6, list: RailList::new(&rails) },
    };
    let header = Header { path: Path { rail: 0, lane: Lane::Raw }, number: 0, peer: 0, ..HEADER };
    same(HELLO, header, &[Frame::Hello(greeting)]);
}

/// Keys and tag come from another program, written after the paper of SipHash.
const TAGGED: &str = "
    54 01 01 22         # magic, version, flags: a tag, path: rail 2, lane UDP
    33 00               # length
    01 02 03 04 05 06   # packet number
    07 00 00 00         # endpoint
    09 00 00 00         # peer
    11 22 33 44 55 66 77 88 # token
    3f 08 e0 7c         # checksum
    14 05 06            # done: position 5, seq 6
    c9 a9 26 97 d9 72 8c 33 80 a7 04 c7 83 56 36 a7 # tag
";

#[test]
fn a_packet_with_a_tag() {
    let bytes = unhex(TAGGED);
    let job: JobKey = "000102030405060708090a0b0c0d0e0f".parse().unwrap();
    let from = Party { endpoint: 3, incarnation: 0x1111 };
    let to = Party { endpoint: HEADER.endpoint, incarnation: 0x2222 };
    let key = job.for_packets(from, to);
    let frame = Frame::Control { position: 5, control: tasuki_wire::Control::Done { seq: 6 } };

    let mut buffer = [0xee; 51];
    let mut builder = PacketBuilder::new(&mut buffer, HEADER).unwrap().with_tag().unwrap();
    assert_eq!(builder.room(), 3);
    builder.push(&frame).unwrap();
    assert_eq!(builder.finish_tagged(&key), Ok(51));
    assert_eq!(buffer[..], bytes);

    let tagged = Tagged::parse(&bytes).unwrap();
    let packet = tagged.verify(&key).unwrap();
    assert_eq!((packet.header(), packet.length()), (&HEADER, 51));
    assert_eq!(packet.frames().collect::<Vec<_>>(), [frame]);
    for other in [job.for_packets(to, from), JobKey([1; 16]).for_packets(from, to)] {
        assert_eq!(tagged.verify(&other).unwrap_err(), DropReason::Tag);
    }
    assert_eq!(Packet::parse(&bytes).unwrap_err(), DropReason::Tag, "without a key");
    assert_eq!(Tagged::parse(&unhex(MESSAGES)).unwrap_err(), DropReason::Tag, "without a tag");
    assert_eq!(job.address_proof(to, HEADER.token).to_le_bytes()[..], unhex("b7 f6 25 4d f3 d5 9c c1"));
}
