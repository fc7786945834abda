//! The native half of PyTorch's backend `tasuki`: `libtasuki-torch.so`, which `python/tasuki_torch.py` loads
//! with ctypes.
//!
//! A [`group`] is an endpoint and a queue of collective operations, which one thread at a time works off in
//! order: that which waits for one, or the group's own. Sends and receives between two processes are posted
//! at once and do not queue. What has failed leaves the group broken, and the endpoint closed, so that no
//! memory of the program is in use any more: PyTorch ends such a process group, too.

mod border;
mod error;
mod group;
mod net;
mod operation;
mod progress;
mod states;
mod turn;

pub use border::*;
