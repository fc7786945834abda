//! Which word of a record holds what.

use super::words::{Cursor, Words};
use super::{
    Carrier, EndpointRecord, Identity, Lane, Operation, OperationRecord, PeerRecord, RailRecord, RailState,
};

/// The page's first record: the process that writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) pid: u64,
    pub(crate) started: u64,
    /// The process's rank plus one, 0 if it has none.
    pub(crate) rank: u64,
    pub(crate) program: String,
    pub(crate) host: String,
    pub(crate) identity: Identity,
}

impl Words for Origin {
    const WORDS: usize = 3 + 8 + 8 + 16 + 4;

    fn put(&self, into: &mut Cursor<'_>) {
        [self.pid, self.started, self.rank].iter().for_each(|&value| into.number(value));
        into.text(&self.program, 8);
        into.text(&self.host, 8);
        into.text(&self.identity.address, 16);
        into.text(&self.identity.lanes, 4);
    }

    fn get(from: &mut Cursor<'_>) -> Origin {
        Origin {
            pid: from.read(),
            started: from.read(),
            rank: from.read(),
            program: from.read_text(8),
            host: from.read_text(8),
            identity: Identity { address: from.read_text(16), lanes: from.read_text(4) },
        }
    }
}

impl Words for EndpointRecord {
    const WORDS: usize = 17;

    fn put(&self, into: &mut Cursor<'_>) {
        let values = [
            self.messages_sent,
            self.messages_received,
            self.bytes_sent,
            self.bytes_received,
            self.receives_posted,
            self.unexpected,
            self.pool_held,
            self.pool_limit,
            self.completions_waiting,
            self.progress_calls,
            self.helper_calls,
            self.granted_rate,
            self.grant_window,
            self.grants,
            self.slowed,
            self.operations_listed,
            u64::from(self.operations_complete),
        ];
        values.iter().for_each(|&value| into.number(value));
    }

    fn get(from: &mut Cursor<'_>) -> EndpointRecord {
        EndpointRecord {
            messages_sent: from.read(),
            messages_received: from.read(),
            bytes_sent: from.read(),
            bytes_received: from.read(),
            receives_posted: from.read(),
            unexpected: from.read(),
            pool_held: from.read(),
            pool_limit: from.read(),
            completions_waiting: from.read(),
            progress_calls: from.read(),
            helper_calls: from.read(),
            granted_rate: from.read(),
            grant_window: from.read(),
            grants: from.read(),
            slowed: from.read(),
            operations_listed: from.read(),
            operations_complete: from.read() & 1 == 1,
        }
    }
}

impl Words for OperationRecord {
    const WORDS: usize = 4;

    fn put(&self, into: &mut Cursor<'_>) {
        let operation = match self.operation {
            Operation::Receive => 0,
            Operation::Send => 1,
            Operation::Unexpected => 2,
        };
        // A peer's place is written plus one: 0 stands for any.
        let peer = self.peer.map_or(0, |peer| u64::from(peer) + 1);
        into.number(operation | u64::from(self.tagged) << 8 | peer << 16);
        [self.tag, self.ignore, self.bytes].iter().for_each(|&value| into.number(value));
    }

    fn get(from: &mut Cursor<'_>) -> OperationRecord {
        let flags = from.read();
        OperationRecord {
            operation: match flags & 0xff {
                1 => Operation::Send,
                2 => Operation::Unexpected,
                _ => Operation::Receive,
            },
            tagged: flags & 0x100 != 0,
            peer: (flags >> 16).checked_sub(1).and_then(|peer| u32::try_from(peer).ok()),
            tag: from.read(),
            ignore: from.read(),
            bytes: from.read(),
        }
    }
}

impl Words for PeerRecord {
    const WORDS: usize = 12 + 9;

    fn put(&self, into: &mut Cursor<'_>) {
        into.text(&self.name, 12);
        let carrier = match self.carrier {
            Carrier::None => 0,
            Carrier::Shm => 1,
            Carrier::Udp => 2,
            Carrier::Own => 3,
            Carrier::Raw => 4,
        };
        let values = [
            carrier | u64::from(self.dead) << 8,
            self.messages_sent,
            self.messages_received,
            self.bytes_sent,
            self.bytes_received,
            self.unexpected,
            self.credit,
            self.pool_held,
            self.sends_pending,
        ];
        values.iter().for_each(|&value| into.number(value));
    }

    fn get(from: &mut Cursor<'_>) -> PeerRecord {
        let name = from.read_text(12);
        let flags = from.read();
        PeerRecord {
            name,
            carrier: match flags & 0xff {
                1 => Carrier::Shm,
                2 => Carrier::Udp,
                3 => Carrier::Own,
                4 => Carrier::Raw,
                _ => Carrier::None,
            },
            dead: flags & 0x100 != 0,
            messages_sent: from.read(),
            messages_received: from.read(),
            bytes_sent: from.read(),
            bytes_received: from.read(),
            unexpected: from.read(),
            credit: from.read(),
            pool_held: from.read(),
            sends_pending: from.read(),
        }
    }
}

impl Words for RailRecord {
    const WORDS: usize = 2 + 11;

    fn put(&self, into: &mut Cursor<'_>) {
        into.text(&self.nic, 2);
        let state = match self.state {
            RailState::Probing => 0,
            RailState::Up => 1,
            RailState::Down => 2,
        };
        let values = [
            u64::from(self.rail) | state << 8 | u64::from(self.lane == Lane::Raw) << 16,
            self.packets_sent,
            self.packets_received,
            self.bytes_sent,
            self.bytes_received,
            self.resent,
            self.lost,
            self.srtt_ns,
            self.rate,
            self.cwnd,
            self.inflight,
        ];
        values.iter().for_each(|&value| into.number(value));
    }

    fn get(from: &mut Cursor<'_>) -> RailRecord {
        let nic = from.read_text(2);
        let flags = from.read();
        RailRecord {
            nic,
            rail: flags as u8,
            lane: if flags & 1 << 16 != 0 { Lane::Raw } else { Lane::Udp },
            state: match flags >> 8 & 0xff {
                1 => RailState::Up,
                2 => RailState::Down,
                _ => RailState::Probing,
            },
            packets_sent: from.read(),
            packets_received: from.read(),
            bytes_sent: from.read(),
            bytes_received: from.read(),
            resent: from.read(),
            lost: from.read(),
            srtt_ns: from.read(),
            rate: from.read(),
            cwnd: from.read(),
            inflight: from.read(),
        }
    }
}

/// One reason for drops and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DropRecord {
    pub(crate) name: String,
    pub(crate) count: u64,
}

impl DropRecord {
    pub(crate) fn put_parts(name: &str, count: u64, into: &mut Cursor<'_>) {
        into.text(name, 6);
        into.number(count);
    }
}

impl Words for DropRecord {
    const WORDS: usize = 7;

    fn put(&self, into: &mut Cursor<'_>) {
        DropRecord::put_parts(&self.name, self.count, into);
    }

    fn get(from: &mut Cursor<'_>) -> DropRecord {
        DropRecord { name: from.read_text(6), count: from.read() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::WORDS_MAX;
    use super::*;

    /// Reads a record from words and writes it into others: every word of a record tells something, so that
    /// they are equal.
    fn round<T: Words>() {
        // Every byte is printable, so that text comes back as it was; flags stay within what is known.
        let words: Vec<u64> =
            (0..T::WORDS as u64).map(|n| 0x4141_4141_4141_0101 + n * 0x0101_0000_0000).collect();
        let mut from = words.clone();
        let record = T::get(&mut Cursor(&mut from));
        let mut out = vec![u64::MAX; T::WORDS + 1];
        record.put(&mut Cursor(&mut out));
        assert_eq!(out.pop(), Some(u64::MAX), "writes no more than it says");
        let same = words.iter().zip(&out).filter(|(a, b)| a == b).count();
        assert!(same + 1 >= T::WORDS, "{words:x?} {out:x?}");
        assert!(T::WORDS <= WORDS_MAX);
    }

    #[test]
    fn no_word_is_lost_or_misplaced() {
        round::<Origin>();
        round::<EndpointRecord>();
        round::<OperationRecord>();
        round::<PeerRecord>();
        round::<RailRecord>();
        round::<DropRecord>();
    }
}
