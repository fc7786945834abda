//! Traffic patterns: which hosts send how much to which.

use crate::network::{ChannelId, HostId, Network, NodeId};
use crate::tables::{PathError, Tables};
use thiserror::Error;

/// A flow between two different hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Source.
    pub from: HostId,
    /// Destination.
    pub to: HostId,
    /// Its weight among the others, above 0; 1 unless flows differ.
    pub demand: f64,
}

/// The permutations of the RHiNET-2 paper (after Duato, Yalamanchili, Ni: "Interconnection Networks"), on
/// numbers of `b` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Bits in reverse order.
    BitReversal,
    /// Upper and lower half of the bits exchanged.
    MatrixTranspose,
    /// First and last bit exchanged.
    Butterfly,
    /// All bits inverted.
    Complement,
}

impl Pattern {
    /// The number that `number`, of `bits` bits (at most 32), sends to.
    pub fn target(self, number: u32, bits: u32) -> u32 {
        let bits = bits.min(32);
        let mask = ((1u64 << bits) - 1) as u32;
        match self {
            Pattern::BitReversal if bits == 0 => 0,
            Pattern::BitReversal => number.reverse_bits() >> (32 - bits),
            Pattern::MatrixTranspose => {
                let half = bits / 2;
                ((number >> half) | (number << (bits - half))) & mask
            }
            Pattern::Butterfly if bits < 2 => number,
            Pattern::Butterfly => {
                let (low, high) = (number & 1, (number >> (bits - 1)) & 1);
                (number & !(1 | (1 << (bits - 1)))) | (low << (bits - 1)) | high
            }
            Pattern::Complement => !number & mask,
        }
    }
}

/// Why a pattern does not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// The number of vertices is no power of two.
    #[error(
        "the pattern permutes the bits of a number, but there are {0} switches with hosts; use 2, 4, 8, ..."
    )]
    NotAPowerOfTwo(usize),
    /// Transposing needs an even number of bits.
    #[error("matrix transpose needs a square number of switches with hosts, not {0}; use 4, 16, 64, ...")]
    NotASquare(usize),
    /// Too few hosts at a switch.
    #[error("{switch} has {hosts} hosts; the pattern needs one that sends and another that receives")]
    TooFewHosts {
        /// Name of the switch.
        switch: String,
        /// Its hosts.
        hosts: usize,
    },
}

/// A traffic pattern: flows that all take as high a rate as they can get.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// The flows. Those from a host to itself cross no cable and are left out.
    pub flows: Vec<Flow>,
}

impl Traffic {
    /// Any flows of demand 1.
    pub fn new(pairs: impl IntoIterator<Item = (HostId, HostId)>) -> Self {
        let pairs = pairs.into_iter().filter(|(from, to)| from != to);
        Self { flows: pairs.map(|(from, to)| Flow { from, to, demand: 1.0 }).collect() }
    }

    /// Every host to every other.
    pub fn all_to_all(net: &Network) -> Self {
        let hosts = 0..net.hosts().len() as u32;
        Self::new(hosts.clone().flat_map(|a| hosts.clone().map(move |b| (HostId(a), HostId(b)))))
    }

    /// Every host to the next one.
    pub fn neighbour(net: &Network) -> Self {
        let n = net.hosts().len() as u32;
        Self::new((0..n).map(|a| (HostId(a), HostId((a + 1) % n))))
    }

    /// A permutation of switches as the RHiNET-2 paper measures it: at every switch with hosts the first host
    /// only sends and the second only receives; switches are numbered in the order of their first hosts. A
    /// switch that sends to itself uses its crossbar.
    pub fn between_switches(net: &Network, pattern: Pattern) -> Result<Self, PatternError> {
        let mut places: Vec<(NodeId, Vec<HostId>)> = Vec::new();
        let mut place_of = vec![usize::MAX; net.nodes().len()];
        for (i, &node) in net.hosts().iter().enumerate() {
            let Some(at) = net.out(node).next().map(|c| net.to(c)) else { continue };
            if place_of[at.ix()] == usize::MAX {
                place_of[at.ix()] = places.len();
                places.push((at, Vec::new()));
            }
            places[place_of[at.ix()]].1.push(HostId(i as u32));
        }
        let n = places.len();
        if !n.is_power_of_two() {
            return Err(PatternError::NotAPowerOfTwo(n));
        }
        let bits = n.trailing_zeros();
        if pattern == Pattern::MatrixTranspose && !bits.is_multiple_of(2) {
            return Err(PatternError::NotASquare(n));
        }
        if let Some((at, hosts)) = places.iter().find(|(_, hosts)| hosts.len() < 2) {
            return Err(PatternError::TooFewHosts { switch: net.label(*at).to_owned(), hosts: hosts.len() });
        }
        let pair = |i: usize| (places[i].1[0], places[pattern.target(i as u32, bits) as usize].1[1]);
        Ok(Self::new((0..n).map(pair)))
    }

    /// The channels of every flow over given tables.
    pub fn paths(&self, net: &Network, tables: &Tables) -> Result<Vec<Vec<ChannelId>>, PathError> {
        self.flows.iter().map(|flow| tables.path(net, flow.from, flow.to)).collect()
    }
}
