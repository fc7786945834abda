//! Arbitrary frames and packets, owned, so that proptest can keep and shrink them.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tasuki_wire::{
    Ack, Control, Data, Frame, Greeting, Header, Lane, Lanes, MAX_PACKET_NUMBER, Mark, Path, Rail, RailList,
    Rails, RefuseReason, Run, Runs, Secret, Start,
};

/// A frame without its lists and payload, and these separately.
#[derive(Clone, Debug)]
pub struct Owned {
    frame: Frame<'static>,
    runs: Vec<Run>,
    rails: Vec<Rail>,
    payload: Vec<u8>,
}

impl Owned {
    fn plain(frame: Frame<'static>) -> Owned {
        Owned { frame, runs: Vec::new(), rails: Vec::new(), payload: Vec::new() }
    }

    pub fn frame(&self) -> Frame<'_> {
        let rails = |change| Rails { change, list: RailList::new(&self.rails) };
        match self.frame {
            Frame::Ack(ack) => Frame::Ack(Ack { runs: Runs::new(&self.runs), ..ack }),
            Frame::Hello(g) => Frame::Hello(Greeting { rails: rails(g.rails.change), ..g }),
            Frame::Welcome(g) => Frame::Welcome(Greeting { rails: rails(g.rails.change), ..g }),
            Frame::Rails(list) => Frame::Rails(rails(list.change)),
            Frame::Start(start) => Frame::Start(Start { payload: &self.payload, ..start }),
            Frame::Data(data) => Frame::Data(Data { payload: &self.payload, ..data }),
            frame => frame,
        }
    }
}

/// Any number: every width is about as likely, and so are the limits of each.
pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        (any::<u64>(), 0..64u32).prop_map(|(value, shift)| value >> shift),
        (0..64u32, 0..3u64).prop_map(|(shift, off)| (1u64 << shift).wrapping_add(off).wrapping_sub(1)),
        243..260u64,
        Just(u64::MAX),
    ]
}

pub fn path() -> impl Strategy<Value = Path> {
    let lane = prop_oneof![Just(Lane::Raw), Just(Lane::Udp), Just(Lane::Xdp)];
    (0..32u8, lane).prop_map(|(rail, lane)| Path { rail, lane })
}

pub fn header() -> impl Strategy<Value = Header> {
    (path(), number(), any::<u32>(), 1..=u32::MAX, any::<u64>()).prop_map(
        |(path, number, endpoint, peer, token)| Header {
            path,
            number: number.min(MAX_PACKET_NUMBER),
            endpoint,
            peer,
            token,
        },
    )
}

fn position() -> impl Strategy<Value = u64> {
    number().prop_map(|value| value.min(u64::MAX - 1))
}

fn ack() -> impl Strategy<Value = Owned> {
    let steps = vec((0..300u64, 0..300u64), 0..64);
    (path(), number(), number(), number(), steps).prop_map(|(path, delay_us, largest, below, steps)| {
        let last = largest.min(MAX_PACKET_NUMBER);
        let mut runs = vec![Run { first: last - below.min(last), last }];
        for (gap, below) in steps {
            let Some(last) = runs[runs.len() - 1].first.checked_sub(gap + 2) else { break };
            runs.push(Run { first: last.saturating_sub(below), last });
        }
        let frame = Frame::Ack(Ack { path, delay_us, runs: Runs::new(&[]) });
        Owned { frame, runs, rails: Vec::new(), payload: Vec::new() }
    })
}

fn rails() -> impl Strategy<Value = Vec<Rail>> {
    let one = (0..8u8, 1280..=u16::MAX, any::<u32>(), any::<u128>(), any::<u16>(), any::<[u8; 6]>());
    vec(option::of(one), 0..=32).prop_map(|some| {
        let present = some.into_iter().enumerate().filter_map(|(rail, one)| Some((rail, one?)));
        present
            .map(|(rail, (lanes, mtu, rate_mbps, address, port, mac))| Rail {
                rail: rail as u8,
                lanes: [Lane::Raw, Lane::Udp, Lane::Xdp]
                    .into_iter()
                    .filter(|lane| lanes & 1 << *lane as u8 != 0)
                    .fold(Lanes::NONE, Lanes::with),
                mtu,
                rate_mbps,
                address: address.into(),
                port,
                mac,
            })
            .collect()
    })
}

fn greeting() -> impl Strategy<Value = Greeting<'static>> {
    let who = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>(), 1..=u32::MAX);
    let how = (any::<[u8; 16]>(), any::<u128>(), any::<u16>(), any::<u32>(), number());
    (who, how).prop_map(|((addressee, proof, incarnation, endpoint, name), how)| {
        let (secret, identity, port, ack_delay_us, change) = how;
        let rails = Rails { change, list: RailList::new(&[]) };
        let (secret, identity) = (Secret(secret), identity.into());
        Greeting {
            addressee,
            proof,
            incarnation,
            endpoint,
            name,
            secret,
            identity,
            port,
            ack_delay_us,
            rails,
        }
    })
}

fn with_rails(frame: impl Strategy<Value = Frame<'static>>) -> impl Strategy<Value = Owned> {
    (frame, rails()).prop_map(|(frame, rails)| Owned { rails, ..Owned::plain(frame) })
}

pub fn hello() -> impl Strategy<Value = Owned> {
    with_rails(greeting().prop_map(Frame::Hello))
}

fn start() -> impl Strategy<Value = Owned> {
    let fields = (option::of(number()), option::of(any::<u64>()), option::of(any::<u64>()));
    let sizes = (vec(any::<u8>(), 0..400), number(), number(), 0..3u8);
    (position(), number(), fields, any::<(bool, bool, bool)>(), sizes).prop_map(
        |(position, seq, (tag, data, remote_key), (charged, ack, internal), (payload, more, rest, shape))| {
            let inline = payload.len() as u64;
            let early = if shape == 0 { inline } else { inline.saturating_add(more) };
            let len = if shape < 2 { early } else { early.saturating_add(rest) };
            let internal = internal && tag.is_some();
            let start = Start {
                position,
                seq,
                tag,
                internal,
                data,
                remote_key,
                charged,
                ack,
                len,
                early,
                payload: &[],
            };
            Owned { payload, ..Owned::plain(Frame::Start(start)) }
        },
    )
}

fn data() -> impl Strategy<Value = Owned> {
    let fields = (number(), number(), number(), number());
    (fields, vec(any::<u8>(), 1..400)).prop_map(|((position, seq, offset, early), payload)| {
        let end = u64::MAX - payload.len() as u64;
        let (position, offset) = (position.min(end), offset.min(end));
        Owned { payload, ..Owned::plain(Frame::Data(Data { position, seq, offset, early, payload: &[] })) }
    })
}

fn control() -> impl Strategy<Value = Owned> {
    let kind = (0..9u8, number(), number(), number());
    (position(), kind).prop_map(|(position, (kind, a, b, c))| {
        let mark = Mark { frames: b, bytes: c };
        let control = match kind {
            0 => Control::Grant { seq: a, upto: b },
            1 => Control::Done { seq: a },
            2 => Control::Credit { total: a },
            3 => Control::Recall { keep: a },
            4 => Control::Return { total: a },
            5 => Control::Quiesce { epoch: a, mark },
            6 => Control::Quiesced { epoch: a, mark },
            7 => Control::Resume { epoch: a },
            _ => Control::Bye { mark },
        };
        Owned::plain(Frame::Control { position, control })
    })
}

/// Any frame but a hello.
pub fn frame() -> impl Strategy<Value = Owned> {
    let reason =
        prop_oneof![Just(RefuseReason::NoRoom), Just(RefuseReason::Leaving), Just(RefuseReason::GivenUp)];
    prop_oneof![
        1 => Just(Owned::plain(Frame::Ping)),
        1 => any::<u64>().prop_map(|nonce| Owned::plain(Frame::Probe { nonce })),
        1 => (any::<u64>(), path(), any::<u16>())
            .prop_map(|(nonce, path, length)| Owned::plain(Frame::ProbeReply { nonce, path, length })),
        1 => (any::<u64>(), reason)
            .prop_map(|(incarnation, reason)| Owned::plain(Frame::Refuse { incarnation, reason })),
        1 => with_rails(greeting().prop_map(Frame::Welcome)),
        1 => with_rails(number().prop_map(|change| Frame::Rails(Rails { change, list: RailList::new(&[]) }))),
        3 => ack(),
        4 => start(),
        4 => data(),
        4 => control(),
    ]
}
