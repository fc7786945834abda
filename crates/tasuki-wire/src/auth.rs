//! Keyed tags: keys of jobs and of pairs of endpoints, and the tag of a packet.
//!
//! One primitive does everything, SipHash-2-4 with 128 bits of output: it is a pseudorandom function of its
//! key, so it can derive keys as well as authenticate, and it needs no nonce that a mistake could repeat.
//! `docs/adr/0017-a-keyed-tag-per-packet.md` says what else was measured.

use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::header::CHECKSUM_OFFSET;
use crate::limits::{HEADER_LEN, TAG_LEN};

/// What a derivation is for. It stands before the input, so that no result can be taken for another's.
const FOR_PACKETS: &[u8; 16] = b"tasuki packets 1";
const FOR_ADDRESS: &[u8; 16] = b"tasuki address 1";

/// An endpoint in one incarnation, as keys are derived for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// Endpoint id.
    pub endpoint: u32,
    /// Incarnation, which no other endpoint has.
    pub incarnation: u64,
}

/// The key that all processes of a job share. Not printed by `{:?}`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JobKey(pub [u8; 16]);

/// The key of the packets from one endpoint to another. Not printed by `{:?}`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PacketKey([u8; 16]);

/// The text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

impl JobKey {
    /// The key of the packets that `from` sends to `to`: another one in each direction, and for each
    /// incarnation.
    //= docs/reference/wire.md#who-may-speak
    //# The key of the packets from one endpoint to another is the SipHash-2-4-128 under the job's key of
    //# `tasuki packets 1`, the sender's endpoint id and incarnation, and the addressee's.
    pub fn for_packets(&self, from: Party, to: Party) -> PacketKey {
        let mut input = [0; 40];
        input[..16].copy_from_slice(FOR_PACKETS);
        input[16..20].copy_from_slice(&from.endpoint.to_le_bytes());
        input[20..28].copy_from_slice(&from.incarnation.to_le_bytes());
        input[28..32].copy_from_slice(&to.endpoint.to_le_bytes());
        input[32..].copy_from_slice(&to.incarnation.to_le_bytes());
        PacketKey(hash(&self.0, &input))
    }

    /// The second half of the secret of an endpoint that has this key, whose first half is `token`: whoever
    /// is given the address of the endpoint can tell by it, before the first packet, whether both have the
    /// same key.
    //= docs/reference/wire.md#who-may-speak
    //# The second half of its secret is the first half of the SipHash-2-4-128 under the job's key of `tasuki
    //# address 1`, its endpoint id, its incarnation and the first half of its secret.
    pub fn address_proof(&self, of: Party, token: u64) -> u64 {
        let mut input = [0; 36];
        input[..16].copy_from_slice(FOR_ADDRESS);
        input[16..20].copy_from_slice(&of.endpoint.to_le_bytes());
        input[20..28].copy_from_slice(&of.incarnation.to_le_bytes());
        input[28..].copy_from_slice(&token.to_le_bytes());
        let [low, _] = halves(hash(&self.0, &input));
        low
    }
}

/// 32 hexadecimal digits.
impl FromStr for JobKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<JobKey, KeyError> {
        let digits = text.as_bytes();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(KeyError);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| KeyError)?;
        Ok(JobKey(number.to_be_bytes()))
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey(..)")
    }
}

impl PacketKey {
    /// The tag of a packet, of which `untagged` is everything before the tag. The value of the checksum field
    /// does not matter. `untagged` has at least a header.
    //= docs/reference/wire.md#who-may-speak
    //# The tag is the SipHash-2-4-128 under that key of all bytes before it, with the checksum field zero.
    pub(crate) fn tag(&self, untagged: &[u8]) -> [u8; TAG_LEN] {
        let mut head = [0; HEADER_LEN];
        head[..CHECKSUM_OFFSET].copy_from_slice(&untagged[..CHECKSUM_OFFSET]);
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&head);
        hasher.write(&untagged[HEADER_LEN..]);
        hasher.finish128().as_bytes()
    }

    /// Whether `tag` is the tag of the packet whose bytes before it are `untagged`.
    pub(crate) fn verify(&self, untagged: &[u8], tag: &[u8; TAG_LEN]) -> bool {
        // Compared in one step, so that the time taken does not tell how much of the tag was right.
        u128::from_le_bytes(self.tag(untagged)) ^ u128::from_le_bytes(*tag) == 0
    }
}

impl fmt::Debug for PacketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PacketKey(..)")
    }
}

fn hash(key: &[u8; 16], input: &[u8]) -> [u8; 16] {
    SipHasher24::new_with_key(key).hash(input).as_bytes()
}

fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let number = u128::from_le_bytes(bytes);
    [number as u64, (number >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    // github.com/veorq/SipHash, vectors.h, vectors_sip128: key 00 to 0f, input 00, 01, 02... of so many
    // bytes.
    #[test]
    fn the_vectors_of_the_reference_implementation_hold() {
        let key: [u8; 16] = std::array::from_fn(|at| at as u8);
        let input: [u8; 64] = std::array::from_fn(|at| at as u8);
        for (len, tag) in [
            (0, 0xa381_7f04_ba25_a8e6_6df6_7214_c755_0293),
            (1, 0xda87_c1d8_6b99_af44_3476_5911_9b22_fc45),
            (2, 0x8177_228d_a4a4_5dc7_fca3_8bde_f60a_ffe4),
            (3, 0x9c70_b60c_5267_a94e_5f33_b6b0_2985_ed51_u128),
        ] {
            assert_eq!(u128::from_be_bytes(hash(&key, &input[..len])), tag, "{len} bytes");
        }
    }

    #[test]
    fn a_tag_is_that_of_its_bytes_and_no_others() {
        let (a, b) = (Party { endpoint: 1, incarnation: 2 }, Party { endpoint: 3, incarnation: 4 });
        let job = JobKey([7; 16]);
        let key = job.for_packets(a, b);
        assert_ne!(key, job.for_packets(b, a));
        assert_ne!(key, JobKey([8; 16]).for_packets(a, b));
        let mut packet: Vec<u8> = (0..60).collect();
        let tag = key.tag(&packet);
        let mut zeroed = packet.clone();
        zeroed[CHECKSUM_OFFSET..HEADER_LEN].fill(0);
        assert_eq!(tag, hash(&key.0, &zeroed));
        for at in (0..60).filter(|at| !(CHECKSUM_OFFSET..HEADER_LEN).contains(at)) {
            packet[at] ^= 4;
            assert!(!key.verify(&packet, &tag), "byte {at}");
            packet[at] ^= 4;
        }
        assert!(key.verify(&packet, &tag));
    }

    #[test]
    fn keys_are_hexadecimal_digits_and_are_not_printed() {
        let key: JobKey = "000102030405060708090a0b0c0d0eff".parse().unwrap();
        assert_eq!(key.0[..4], [0, 1, 2, 3]);
        assert_eq!(key.0[15], 0xff);
        assert_eq!(format!("{key:?}"), "JobKey(..)");
        for wrong in ["", "00", "+00102030405060708090a0b0c0d0eff", "000102030405060708090a0b0c0d0efg"] {
            assert_eq!(wrong.parse::<JobKey>(), Err(KeyError), "{wrong}");
        }
    }
}
