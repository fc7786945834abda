//! What can go wrong: faults of the caller, faults of a peer, and the ways in which an operation fails.

use std::error::Error;
use std::fmt;

use crate::ids::{MsgSeq, PeerId};

/// Why a peer is no longer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The engine has evidence that it died, or that it breaks the protocol.
    Failed,
    /// One side said goodbye.
    Closed,
}

/// Why an operation did not do what it was posted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The program cancelled it in time.
    Cancelled,
    /// Its peer is gone.
    PeerGone(PeerId, Gone),
}

/// The caller named a peer that does not exist (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPeer(pub PeerId);

/// A claim cannot be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// Nothing is claimed under this id: it was received or discarded before.
    Unknown,
    /// The message was lost with its sender. The claim is over.
    PeerGone(PeerId, Gone),
}

/// A frame that was dropped, and why. Except for `PeerGone`, which is normal after a failure, each is a breach of
/// the protocol or of the carrier's promise to deliver once: the engine should declare the peer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// No such peer.
    UnknownPeer(PeerId),
    /// The peer is gone; what it still had under way is of no use.
    PeerGone(PeerId),
    /// The message has begun before.
    DuplicateStart(MsgSeq),
    /// Lengths, flags or totals contradict each other or what came before.
    Malformed(&'static str),
    /// More payload than credit.
    OverCredit(MsgSeq),
    /// Payload that was not granted, or came twice.
    NotGranted(MsgSeq),
    /// Payload, grant or done for a message that is not under way.
    UnknownMessage(MsgSeq),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gone::Failed => "failed",
            Gone::Closed => "closed its end",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Cancelled => f.write_str("cancelled by the program"),
            Failure::PeerGone(peer, gone) => write!(f, "{peer} {gone}"),
        }
    }
}

impl fmt::Display for UnknownPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was never added or has been forgotten: add the peer first", self.0)
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Unknown => f.write_str("nothing is claimed under this id: probe again"),
            ClaimError::PeerGone(peer, gone) => write!(f, "the claimed message is lost: {peer} {gone}"),
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::UnknownPeer(peer) => write!(f, "frame from {peer}, which was never added"),
            FrameError::PeerGone(peer) => write!(f, "frame from {peer}, which is gone"),
            FrameError::DuplicateStart(seq) => write!(f, "message {} began twice", seq.0),
            FrameError::Malformed(what) => write!(f, "contradictory frame: {what}"),
            FrameError::OverCredit(seq) => write!(f, "message {} exceeds the sender's credit", seq.0),
            FrameError::NotGranted(seq) => write!(f, "message {}: payload that was not asked for", seq.0),
            FrameError::UnknownMessage(seq) => write!(f, "message {} is not under way", seq.0),
        }
    }
}

impl Error for Failure {}
impl Error for UnknownPeer {}
impl Error for ClaimError {}
impl Error for FrameError {}
