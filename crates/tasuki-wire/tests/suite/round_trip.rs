//! What is emitted is parsed as the same. On failure proptest prints the shrunk input and keeps its seed in
//! `proptest-regressions`, from which the next run begins.

use proptest::collection::vec;
use proptest::prelude::*;
use tasuki_wire::{Data, EmitError, Frame, HEADER_LEN, Header, Packet, PacketBuilder, Start};

use crate::independent::crc32c;
use crate::judged::judge;
use crate::strategies::{Owned, frame, header, hello, number};

/// Emits a packet, checks it against the independent checksum, and parses it again.
fn goes_round(header: Header, frames: &[Owned], padding: usize) -> Result<(), TestCaseError> {
    let mut buffer = vec![0xa5; 65535];
    let mut builder = PacketBuilder::new(&mut buffer, header).unwrap();
    for owned in frames {
        builder.push(&owned.frame()).unwrap();
    }
    let bare = builder.len();
    builder.pad_to(bare + padding).unwrap();
    let len = builder.finish().unwrap();
    prop_assert_eq!(len, bare + padding);

    let sum = crc32c(buffer[..28].iter().chain(&buffer[32..len]).copied());
    prop_assert_eq!(&buffer[28..32], &sum.to_le_bytes()[..]);
    // Padding of a NIC does not matter: the rest of the buffer is full of it.
    let packet = Packet::parse(&buffer).unwrap();
    prop_assert_eq!(packet.header(), &header);
    let mut expected: Vec<Frame<'_>> = frames.iter().map(Owned::frame).collect();
    if padding > 0 {
        expected.push(Frame::Padding(padding));
    }
    prop_assert_eq!(packet.frames().collect::<Vec<_>>(), expected);
    prop_assert_eq!(judge(&buffer[..len]), Ok(frames.len() + usize::from(padding > 0)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn of_packets(header in header(), frames in vec(frame(), 1..8), padding in 0..50usize) {
        goes_round(header, &frames, padding)?;
    }

    #[test]
    fn of_first_packets(header in header(), hello in hello(), frames in vec(frame(), 0..4)) {
        let all: Vec<Owned> = std::iter::once(hello).chain(frames).collect();
        goes_round(Header { peer: 0, ..header }, &all, 0)?;
    }

    /// A frame that does not fit changes nothing; one that fits exactly is added.
    #[test]
    fn of_room(header in header(), owned in frame(), missing in 1..40usize) {
        let need = owned.frame().encoded_len().unwrap();
        let mut exact = vec![0; HEADER_LEN + need];
        let mut builder = PacketBuilder::new(&mut exact, header).unwrap();
        builder.push(&owned.frame()).unwrap();
        prop_assert_eq!(builder.room(), 0);
        prop_assert_eq!(builder.finish(), Ok(HEADER_LEN + need));

        let room = need.saturating_sub(missing);
        let mut short = vec![0; HEADER_LEN + room];
        let mut builder = PacketBuilder::new(&mut short, header).unwrap();
        prop_assert_eq!(builder.push(&owned.frame()), Err(EmitError::Full { need, room }));
        prop_assert!(builder.is_empty());
        prop_assert_eq!(builder.finish(), Err(EmitError::Empty));
    }

    /// `fit` gives the largest payload that fits, found here by trying.
    #[test]
    fn of_data_cut_to_fit(fields in (number(), number(), number(), number()), room in 0..400usize) {
        let (position, seq, offset, early) = fields;
        let (position, offset) = (position >> 1, offset >> 1);
        let bytes = [7; 400];
        let with = |len: usize| Frame::Data(Data { position, seq, offset, early, payload: &bytes[..len] });
        let best = (1..400).rev().find(|len| with(*len).encoded_len().unwrap() <= room).unwrap_or(0);
        prop_assert_eq!(Data { position, seq, offset, early, payload: &[] }.fit(room), best);
    }

    /// Payload that is filled in later makes the same packet.
    #[test]
    fn of_reserved_payload(header in header(), owned in frame()) {
        let frame = owned.frame();
        let (payload, bare) = match frame {
            Frame::Start(start) => (start.payload, Frame::Start(Start { payload: &[], ..start })),
            Frame::Data(data) => (data.payload, Frame::Data(Data { payload: &[], ..data })),
            _ => (&[][..], frame),
        };
        let (mut one, mut two) = ([0; 2048], [0; 2048]);
        let mut pushed = PacketBuilder::new(&mut one, header).unwrap();
        pushed.push(&frame).unwrap();
        let mut reserved = PacketBuilder::new(&mut two, header).unwrap();
        reserved.reserve(&bare, payload.len()).unwrap().copy_from_slice(payload);
        prop_assert_eq!(pushed.finish(), reserved.finish());
        prop_assert_eq!(one, two);
    }
}
