//! Small value types with a text form: rates, MAC addresses, IPv4 networks. In JSON each is its text.

mod mac;
mod net;
mod rate;

pub use mac::{MacAddr, MacError};
pub use net::{Ipv4Net, NetError};
pub use rate::{AROUND_FRAME, Rate, RateError};
