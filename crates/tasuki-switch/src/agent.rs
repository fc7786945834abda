//! A conversation with an SNMP agent: requests with time limits, and answers that are held to be hostile.

use crate::{
    SwitchError,
    mib::{Column, UPTIME},
};
use snmp2::{Error, Oid, Pdu, SyncSession, Value};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

/// How long an agent may take for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// How often a request is sent before the agent is held to be silent: datagrams may be lost.
const TRIES: usize = 3;
/// Rows that are asked for at once: what fits a datagram with names of 40 bytes.
const ROWS_AT_ONCE: u32 = 20;
/// Most rows of a table.
const ROWS_MAX: usize = 8192;

/// A value, of which the kinds are kept that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Number(u64),
    Bytes(Vec<u8>),
    /// There is no such object.
    Absent,
    /// There is nothing behind what was asked for.
    End,
}

impl Item {
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

type Row = (Vec<u64>, Item);

/// The agent of a switch.
pub(crate) struct Agent {
    place: SocketAddr,
    /// The place as the user knows it.
    address: String,
    community: Vec<u8>,
    end: Instant,
    limit: Duration,
    session: Option<SyncSession>,
}

impl Agent {
    /// The agent at an address, which has `limit` for all answers together.
    pub fn new(place: SocketAddr, address: String, community: Vec<u8>, limit: Duration) -> Self {
        Self { place, address, community, end: Instant::now() + limit, limit, session: None }
    }

    /// The values of a column, by ifIndex.
    pub fn column(&mut self, column: &Column) -> Result<BTreeMap<u64, Item>, SwitchError> {
        let mut rows = BTreeMap::new();
        let mut last = column.to_vec();
        loop {
            let name = self.oid(&last)?;
            let part = self.ask(|session| values(&session.getbulk(&[&name], 0, ROWS_AT_ONCE)?))?;
            if part.is_empty() {
                return Err(self.garbled("an answer without a value"));
            }
            for (oid, item) in part {
                let Some(row) = oid.strip_prefix(column).filter(|_| item != Item::End) else {
                    return Ok(rows);
                };
                if oid <= last {
                    return Err(self.endless("object identifiers that do not increase"));
                }
                let [index] = row else { return Err(self.garbled("a row that is no interface")) };
                rows.insert(*index, item);
                last = oid;
                if rows.len() > ROWS_MAX {
                    return Err(self.endless("more interfaces than any switch has"));
                }
            }
        }
    }

    /// The time since the agent began, hundredths of a second, and the values of columns for an interface, of
    /// one moment.
    pub fn row(&mut self, index: u64, columns: &[&Column]) -> Result<(u32, Vec<Item>), SwitchError> {
        let rows = columns.iter().map(|column| [column, [index].as_slice()].concat());
        let names: Vec<Vec<u64>> = [UPTIME.to_vec()].into_iter().chain(rows).collect();
        let oids = names.iter().map(|name| self.oid(name)).collect::<Result<Vec<_>, _>>()?;
        let oids: Vec<&Oid> = oids.iter().collect();
        let answer = self.ask(|session| values(&session.get_many(&oids)?))?;
        if !answer.iter().map(|(oid, _)| oid).eq(&names) {
            return Err(self.garbled("values of other objects than were asked for"));
        }
        let mut items = answer.into_iter().map(|(_, item)| item);
        let uptime = items.next().and_then(|item| item.number()).and_then(|ticks| u32::try_from(ticks).ok());
        let uptime = uptime.ok_or_else(|| self.garbled("no sysUpTime"))?;
        Ok((uptime, items.collect()))
    }

    /// Asks until there is an answer, for as long as there is time.
    fn ask(
        &mut self,
        request: impl Fn(&mut SyncSession) -> Result<Vec<Row>, Trouble>,
    ) -> Result<Vec<Row>, SwitchError> {
        let mut last = None;
        for _ in 0..TRIES {
            let left = self.end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let mut session = match self.session.take() {
                Some(session) => session,
                None => self.open(left.min(ANSWER_LIMIT))?,
            };
            match request(&mut session) {
                Ok(rows) => {
                    self.session = Some(session);
                    return Ok(rows);
                }
                Err(Trouble::Status(status)) => {
                    return Err(SwitchError::Refused { address: self.address.clone(), status });
                }
                // A late answer to an earlier try would be taken for that to the next request, so every try
                // has a socket of its own.
                Err(Trouble::Snmp(error)) => last = Some(error),
            }
        }
        Err(match last {
            Some(Error::Receive | Error::Send) => SwitchError::Silent { address: self.address.clone() },
            Some(error) => self.garbled(&error.to_string()),
            None => SwitchError::Slow { address: self.address.clone(), seconds: self.limit.as_secs() },
        })
    }

    /// A socket of its own for the agent, whose first request has a number that others cannot guess.
    fn open(&self, limit: Duration) -> Result<SyncSession, SwitchError> {
        let cannot = |why: String| SwitchError::Address { address: self.address.clone(), why };
        let number = getrandom::u32().map_err(|error| cannot(error.to_string()))?;
        let number = (number >> 1) as i32;
        SyncSession::new_v2c(self.place, &self.community, Some(limit), number)
            .map_err(|error| cannot(error.to_string()))
    }

    fn oid(&self, arcs: &[u64]) -> Result<Oid<'static>, SwitchError> {
        Oid::from(arcs).map_err(|_| self.garbled("an object identifier that cannot be asked for"))
    }

    fn garbled(&self, why: &str) -> SwitchError {
        SwitchError::Garbled { address: self.address.clone(), why: why.into() }
    }

    fn endless(&self, why: &'static str) -> SwitchError {
        SwitchError::Endless { address: self.address.clone(), why }
    }
}

/// What a try came to.
enum Trouble {
    Snmp(Error),
    /// The agent's error-status.
    Status(u32),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Snmp(error)
    }
}

/// The values of an answer.
fn values(answer: &Pdu<'_>) -> Result<Vec<Row>, Trouble> {
    if answer.error_status != 0 {
        return Err(Trouble::Status(answer.error_status));
    }
    let row = |(oid, value): (Oid<'_>, Value<'_>)| Ok((arcs(&oid)?, item(&value)));
    answer.varbinds.clone().map(row).collect()
}

/// The numbers of an object identifier, of which RFC 2578 (section 3.5) says that they have 32 bits.
fn arcs(oid: &Oid<'_>) -> Result<Vec<u64>, Trouble> {
    let is_whole = oid.as_bytes().last().is_some_and(|byte| byte >> 7 == 0);
    let arcs: Option<Vec<u64>> = oid.iter().map(Iterator::collect).filter(|_| is_whole);
    Ok(arcs.filter(|arcs| arcs.iter().all(|arc| u32::try_from(*arc).is_ok())).ok_or(Error::AsnParse)?)
}

fn item(value: &Value<'_>) -> Item {
    match value {
        Value::Integer(number) => u64::try_from(*number).map_or(Item::Absent, Item::Number),
        Value::Counter32(number) | Value::Unsigned32(number) | Value::Timeticks(number) => {
            Item::Number(u64::from(*number))
        }
        Value::Counter64(number) => Item::Number(*number),
        Value::OctetString(bytes) => Item::Bytes(bytes.to_vec()),
        Value::EndOfMibView => Item::End,
        _ => Item::Absent,
    }
}
