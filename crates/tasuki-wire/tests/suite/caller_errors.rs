//! A caller that asks for something impossible gets an error, and the packet stays as it was.

use tasuki_wire::{
    Ack, Control, Data, EmitError, Frame, Greeting, Header, Lane, Lanes, MAX_PACKET_NUMBER, MIN_MTU,
    PacketBuilder, Path, Rail, RailList, Rails, Run, Runs, Secret, Start,
};

const PATH: Path = Path { rail: 0, lane: Lane::Raw };
const HEADER: Header = Header { path: PATH, number: 0, endpoint: 1, peer: 1, token: 0 };

fn refused(frame: Frame<'_>) -> Option<EmitError> {
    let mut buffer = [0; 9000];
    let mut builder = PacketBuilder::new(&mut buffer, HEADER).unwrap();
    let error = builder.push(&frame).err();
    assert_eq!(error.is_some(), builder.is_empty());
    error
}

#[test]
fn headers() {
    let mut buffer = [0; 100];
    let with = |header: Header, buffer: &mut [u8]| PacketBuilder::new(buffer, header).err();
    assert_eq!(with(HEADER, &mut buffer[..31]), Some(EmitError::Buffer));
    assert_eq!(with(HEADER, &mut buffer[..32]), None);
    let last = Header { number: MAX_PACKET_NUMBER, ..HEADER };
    assert_eq!(with(last, &mut buffer), None);
    assert_eq!(
        with(Header { number: last.number + 1, ..HEADER }, &mut buffer),
        Some(EmitError::PacketNumber)
    );
    let rail32 = Header { path: Path { rail: 32, ..PATH }, ..HEADER };
    assert_eq!(with(rail32, &mut buffer), Some(EmitError::Path));
    let builder = PacketBuilder::new(&mut buffer, HEADER).unwrap();
    assert_eq!(builder.finish(), Err(EmitError::Empty));
}

#[test]
fn acks() {
    let run = |first, last| Run { first, last };
    let ack = |runs: &[Run]| refused(Frame::Ack(Ack { path: PATH, delay_us: 0, runs: Runs::new(runs) }));
    assert_eq!(ack(&[run(5, 9), run(0, 3)]), None);
    assert_eq!(ack(&[]), Some(EmitError::Ack));
    assert_eq!(ack(&[run(5, 4)]), Some(EmitError::Ack), "backwards");
    assert_eq!(ack(&[run(5, 9), run(0, 4)]), Some(EmitError::Ack), "adjacent");
    assert_eq!(ack(&[run(0, 3), run(5, 9)]), Some(EmitError::Ack), "ascending");
    assert_eq!(ack(&[run(0, MAX_PACKET_NUMBER + 1)]), Some(EmitError::Ack));
    let many: Vec<Run> = (0..65).rev().map(|n| run(n * 2, n * 2)).collect();
    assert_eq!(ack(&many[..64]), None);
    assert_eq!(ack(&many), Some(EmitError::Ack));
}

#[test]
fn rails_and_greetings() {
    let good = Rail {
        rail: 0,
        lanes: Lanes::NONE.with(Lane::Udp),
        mtu: MIN_MTU,
        rate_mbps: 0,
        address: std::net::Ipv6Addr::LOCALHOST,
        port: 1,
        mac: [0; 6],
    };
    let rails = |list: &[Rail]| refused(Frame::Rails(Rails { change: 1, list: RailList::new(list) }));
    assert_eq!(rails(&[]), None);
    assert_eq!(rails(&[good, Rail { rail: 31, ..good }]), None);
    assert_eq!(rails(&[good, good]), Some(EmitError::Rails));
    assert_eq!(rails(&[Rail { rail: 1, ..good }, good]), Some(EmitError::Rails));
    assert_eq!(rails(&[Rail { rail: 32, ..good }]), Some(EmitError::Rails));
    assert_eq!(rails(&[Rail { mtu: MIN_MTU - 1, ..good }]), Some(EmitError::Rails));

    let greeting = Greeting {
        addressee: 1,
        proof: 2,
        incarnation: 3,
        endpoint: 4,
        name: 0,
        secret: Secret([0; 16]),
        identity: good.address,
        port: 1,
        ack_delay_us: 0,
        rails: Rails { change: 0, list: RailList::new(&[]) },
    };
    assert_eq!(refused(Frame::Welcome(greeting)), Some(EmitError::Greeting));
    let named = Greeting { name: 1, ..greeting };
    assert_eq!(refused(Frame::Welcome(named)), None);
    assert_eq!(refused(Frame::Hello(named)), Some(EmitError::Handshake), "the addressee knows us");

    let mut buffer = [0; 1500];
    let mut first = PacketBuilder::new(&mut buffer, Header { peer: 0, ..HEADER }).unwrap();
    assert_eq!(first.push(&Frame::Ping), Err(EmitError::Handshake));
    first.push(&Frame::Hello(named)).unwrap();
    first.push(&Frame::Ping).unwrap();
    assert_eq!(first.push(&Frame::Hello(named)), Err(EmitError::Handshake));
    assert!(first.finish().is_ok());
}

#[test]
fn messages() {
    let start = Start {
        position: 0,
        seq: 0,
        tag: None,
        internal: false,
        data: None,
        remote_key: None,
        charged: false,
        ack: false,
        len: 3,
        early: 2,
        payload: b"x",
    };
    assert_eq!(refused(Frame::Start(start)), None);
    assert_eq!(refused(Frame::Start(Start { len: 1, ..start })), Some(EmitError::Start));
    assert_eq!(refused(Frame::Start(Start { early: 0, ..start })), Some(EmitError::Start));
    assert_eq!(refused(Frame::Start(Start { position: u64::MAX, ..start })), Some(EmitError::Position));
    assert_eq!(refused(Frame::Start(Start { internal: true, ..start })), Some(EmitError::Start));
    assert_eq!(refused(Frame::Start(Start { internal: true, tag: Some(0), ..start })), None);

    let data = Data { position: 0, seq: 0, offset: 0, early: 0, payload: b"xy" };
    assert_eq!(refused(Frame::Data(Data { offset: u64::MAX - 2, position: u64::MAX - 2, ..data })), None);
    assert_eq!(refused(Frame::Data(Data { payload: b"", ..data })), Some(EmitError::Data));
    assert_eq!(refused(Frame::Data(Data { offset: u64::MAX - 1, ..data })), Some(EmitError::Data));
    assert_eq!(refused(Frame::Data(Data { position: u64::MAX - 1, ..data })), Some(EmitError::Position));
    let done = |position| Frame::Control { position, control: Control::Done { seq: 0 } };
    assert_eq!(refused(done(u64::MAX - 1)), None);
    assert_eq!(refused(done(u64::MAX)), Some(EmitError::Position));
}

/// Absurd sizes are refused like any other that does not fit.
#[test]
fn enormous_sizes() {
    let full = |frame: &Frame<'_>, len: usize| {
        let mut buffer = [0; 100];
        let mut builder = PacketBuilder::new(&mut buffer, HEADER).unwrap();
        let error = builder.reserve(frame, len).err();
        matches!(error, Some(EmitError::Full { room: 68, .. }))
    };
    let data = Frame::Data(Data { position: 0, seq: 0, offset: 0, early: 0, payload: &[] });
    assert!(full(&data, usize::MAX));
    assert!(full(&Frame::Padding(usize::MAX), 0));
    assert!(full(&Frame::Padding(69), 0));
    assert!(!full(&Frame::Padding(68), 0));
}

/// A buffer larger than any packet does not make a larger packet.
#[test]
fn the_largest_packet() {
    let mut buffer = vec![0; 100_000];
    let mut builder = PacketBuilder::new(&mut buffer, HEADER).unwrap();
    assert_eq!(builder.room(), 65_535 - 32);
    assert!(builder.pad_to(65_536).is_err());
    builder.pad_to(65_535).unwrap();
    assert_eq!(builder.finish(), Ok(65_535));
    let packet = tasuki_wire::Packet::parse(&buffer).unwrap();
    assert_eq!(packet.frames().collect::<Vec<_>>(), [Frame::Padding(65_503)]);
}

#[test]
fn errors_say_what_to_do() {
    let text = EmitError::Full { need: 10, room: 4 }.to_string();
    assert!(text.contains("10") && text.contains('4') && text.contains("next"), "{text}");
}
