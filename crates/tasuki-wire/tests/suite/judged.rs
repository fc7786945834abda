//! Parsing of any bytes, with everything that must hold whatever they are.

use tasuki_wire::{Brief, DropReason, Frame, HEADER_LEN, MAX_PACKET_LEN, Packet, PacketBuilder};

/// What [`Brief`] must give for a packet, derived from its frames; `None` if it is no packet of that kind.
fn brief<'a>(packet: &Packet<'a>) -> Option<Brief<'a>> {
    let (header, length) = (*packet.header(), packet.length());
    let frames: Vec<Frame<'_>> = packet.frames().collect();
    let (ack, last) = match frames[..] {
        [Frame::Ack(ack)] => (Some(ack), None),
        [Frame::Ack(ack), last] => (Some(ack), Some(last)),
        [last] => (None, Some(last)),
        _ => return None,
    };
    let (start, data) = match last {
        None => (None, None),
        Some(Frame::Start(start)) => (Some(start), None),
        Some(Frame::Data(data)) => (None, Some(data)),
        Some(_) => return None,
    };
    Some(Brief { header, length, ack, start, data })
}

/// Parses a datagram. An accepted packet is walked to its end and emitted again, which must give the same
/// bytes: so everything has only one encoding, and the parser has missed no byte.
pub fn judge(datagram: &[u8]) -> Result<usize, DropReason> {
    let parsed = Packet::parse(datagram);
    assert_eq!(Brief::parse(datagram), parsed.as_ref().ok().and_then(brief), "{datagram:02x?}");
    let packet = parsed?;
    let mut buffer = vec![0; MAX_PACKET_LEN];
    let mut builder = PacketBuilder::new(&mut buffer, *packet.header()).expect("a header that was accepted");
    let mut frames = 0;
    for frame in packet.frames() {
        // Lists in frames are parsed only when they are looked at.
        let _ = format!("{frame:?}");
        let before = builder.len();
        builder.push(&frame).expect("a frame that was accepted");
        assert_eq!(Ok(builder.len() - before), frame.encoded_len());
        frames += 1;
    }
    assert!(frames > 0);
    let len = builder.finish().expect("a packet that was accepted");
    assert_eq!(len, usize::from(packet.length()));
    assert!((HEADER_LEN..=datagram.len()).contains(&len));
    assert_eq!(&buffer[..len], &datagram[..len]);
    Ok(frames)
}
