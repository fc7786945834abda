//! The greetings of the handshake: who speaks, to which incarnation, and how the speaker can be reached.

use std::net::Ipv6Addr;

use crate::cursor::{Reader, Writer};
use crate::drop_reason::DropReason;
use crate::emit_error::EmitError;
use crate::ids::Secret;
use crate::rails::Rails;

/// The content of a hello and of a welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// Incarnation of the addressee, as in its address.
    pub addressee: u64,
    /// [`Secret::proof`] of the addressee's secret.
    pub proof: u64,
    /// Incarnation of the sender; a restarted endpoint has another one.
    pub incarnation: u64,
    /// Endpoint id of the sender.
    pub endpoint: u32,
    /// The sender's name for the connection, not 0: the addressee puts it into [`crate::Header::peer`] from
    /// now on.
    pub name: u32,
    /// The sender's secret.
    pub secret: Secret,
    /// Identity address of the sender's host; IPv4 as `::ffff:a.b.c.d`.
    pub identity: Ipv6Addr,
    /// UDP port of the sender on that address.
    pub port: u16,
    /// Longest time that the sender holds an acknowledgement back, microseconds.
    pub ack_delay_us: u32,
    /// The sender's rails.
    pub rails: Rails<'a>,
}

impl<'a> Greeting<'a> {
    /// Checks that the greeting is for this incarnation, from a sender that was given its address.
    //= docs/reference/wire.md#greeting
    //# A greeting with a wrong proof or addressee gets no answer.
    pub fn check(&self, incarnation: u64, secret: &Secret) -> Result<(), DropReason> {
        // Both are compared in one step, so that the time taken does not tell how much of the proof was
        // right.
        let wrong = (self.addressee ^ incarnation) | (self.proof ^ secret.proof());
        if wrong == 0 { Ok(()) } else { Err(DropReason::Incarnation) }
    }

    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Greeting<'a>, DropReason> {
        let greeting = Greeting {
            addressee: reader.u64()?,
            proof: reader.u64()?,
            incarnation: reader.u64()?,
            endpoint: reader.u32()?,
            name: match reader.u32()? {
                0 => return Err(DropReason::Greeting),
                name => name,
            },
            secret: Secret(reader.array()?),
            identity: Ipv6Addr::from(reader.array::<16>()?),
            port: reader.u16()?,
            ack_delay_us: reader.u32()?,
            rails: Rails::read(reader)?,
        };
        Ok(greeting)
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EmitError> {
        if self.name == 0 {
            return Err(EmitError::Greeting);
        }
        writer.u64(self.addressee);
        writer.u64(self.proof);
        writer.u64(self.incarnation);
        writer.u32(self.endpoint);
        writer.u32(self.name);
        writer.bytes(&self.secret.0);
        writer.bytes(&self.identity.octets());
        writer.u16(self.port);
        writer.u32(self.ack_delay_us);
        self.rails.write(writer)
    }
}
