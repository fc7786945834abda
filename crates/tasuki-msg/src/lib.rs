//! The message layer of one endpoint: sequencing, tag matching, unexpected messages, probes, eager and
//! rendezvous transfer, flow control, silence and goodbye. `docs/internals/message-layer.md` is its design.
//!
//! The layer is a state machine: no IO, no clock, no threads, and no payload. Payload stays in buffers of the
//! caller; the layer says which bytes of which send go into a frame, and where the bytes of a frame that
//! arrived belong. What happens depends on the order of the calls alone, so a run can be replayed exactly.
//!
//! ```
//! use std::num::NonZeroU64;
//! use tasuki_msg::{
//!     Action, Config, Endpoint, Event, Matching, PeerOptions, Queue, RecvRequest, SendRequest, Source,
//!     Window,
//! };
//!
//! let room = NonZeroU64::new(1500).unwrap();
//! let mut a = Endpoint::new(Config::default(), Window::default());
//! let mut b = Endpoint::new(Config::default(), Window::default());
//! let to_b = a.add_peer(PeerOptions::default());
//! let from_a = b.add_peer(PeerOptions::default());
//!
//! let matching = Matching { queue: Queue::Tagged, source: Source::Any, tag: 7, ignore: 0 };
//! b.post_recv(RecvRequest { matching, capacity: 64, multi: None, user: 1 }).unwrap();
//! let hello = SendRequest {
//!     peer: to_b,
//!     queue: Queue::Tagged,
//!     tag: 7,
//!     data: None,
//!     len: 5,
//!     delivery: false,
//!     remote_key: None,
//!     user: 2,
//! };
//! a.post_send(hello).unwrap();
//!
//! // An engine moves frames; this one has a perfect wire in both directions.
//! let mut received = 0;
//! for _ in 0..8 {
//!     while let Some(transmit) = a.poll_transmit(to_b, room) {
//!         let _placement = b.handle_frame(from_a, &transmit.frame).unwrap(); // copy the payload there
//!         if let Some(payload) = transmit.payload {
//!             a.handle_released(payload.send);
//!         }
//!     }
//!     while let Some(transmit) = b.poll_transmit(from_a, room) {
//!         a.handle_frame(to_b, &transmit.frame).unwrap();
//!     }
//!     while let Some(action) = b.poll_action() {
//!         if let Action::Event(Event::RecvDone(done)) = action {
//!             assert_eq!((done.user, done.len), (1, 5));
//!             received += 1;
//!         }
//!     }
//! }
//! assert_eq!(received, 1);
//! ```
#![forbid(unsafe_code)]

mod action;
mod adaptive;
mod config;
mod control;
mod counters;
mod credit;
#[cfg_attr(not(feature = "defects"), allow(dead_code))]
mod defect;
mod disconnect;
mod endpoint;
mod error;
mod fast_path;
mod frame;
mod grants;
mod handle;
mod hash;
mod ids;
mod index;
mod ops;
mod outlook;
mod outstanding;
mod pace;
mod pacer;
mod peer;
mod pool;
mod posted;
mod probe;
mod quiesce;
mod receive;
mod send;
mod slab;
mod transmit;
mod unexpected;

pub use action::{
    Action, Event, Found, Matching, Payload, Placement, RecvDone, RecvRequest, SendRequest, Sink, Source,
    Transmit,
};
pub use adaptive::{Adaptive, AdaptiveConfig};
pub use config::{Config, ENVELOPE, GRANULE, INITIAL_CREDIT, PeerOptions, charge};
pub use control::{Controller, Demand, Measured, NewMessage, Window};
pub use counters::{EndpointStatus, PeerCounters, PeerStatus};
#[cfg(feature = "defects")]
pub use defect::Defect;
pub use endpoint::Endpoint;
pub use error::{ClaimError, Failure, FrameError, Gone, UnknownPeer};
pub use frame::{Data, Frame, Mark, Queue, Start};
pub use ids::{ClaimId, EarlyId, Epoch, MsgSeq, PeerId, PullId, RecvId, SendId};
pub use outlook::Outlook;
pub use outstanding::Outstanding;
pub use pace::Pace;
pub use pacer::Pacer;
