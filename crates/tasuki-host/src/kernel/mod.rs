//! The running kernel as a map from keys to values: reading them.

mod delay;
mod write;

pub use delay::is_refusal;

use crate::{
    Hop, HostError, Key, RingsValue, RouteValue, StripingValue, Value,
    difference::Actual,
    files::{read_file, read_link},
};
use std::{
    collections::{BTreeSet, HashMap},
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};
use tasuki_cluster::MacAddr;
use tasuki_sys::{
    ethtool::{Ethtool, Feature, Rings},
    netlink::{Link, Netlink, NetlinkError, SavedRoute},
};

/// The state of the network namespace of the thread that opened it, and the machine's files.
pub struct Kernel {
    host: String,
    netlink: Netlink,
    links: HashMap<String, Link>,
    names: HashMap<u32, String>,
    addresses: BTreeSet<(u32, Ipv4Addr, u8)>,
    neighbours: HashMap<(u32, Ipv4Addr), MacAddr>,
    routes: HashMap<Ipv4Addr, SavedRoute>,
    features: HashMap<String, Vec<Feature>>,
    clsacts: BTreeSet<u32>,
    striping: Option<StripingValue>,
}

impl Kernel {
    /// Reads the network namespace of the calling thread. `host` is the name in messages.
    pub fn open(host: &str) -> Result<Self, HostError> {
        let netlink = Netlink::open().map_err(|source| HostError::Socket { host: host.into(), source })?;
        let mut kernel = Self {
            host: host.into(),
            netlink,
            links: HashMap::new(),
            names: HashMap::new(),
            addresses: BTreeSet::new(),
            neighbours: HashMap::new(),
            routes: HashMap::new(),
            features: HashMap::new(),
            clsacts: BTreeSet::new(),
            striping: None,
        };
        kernel.refresh()?;
        Ok(kernel)
    }

    /// Reads everything again.
    pub fn refresh(&mut self) -> Result<(), HostError> {
        self.refresh_links()?;
        let fail = self.fail();
        let addresses = self.netlink.addresses().map_err(&fail)?;
        self.addresses = addresses.into_iter().map(|a| (a.index, a.address, a.prefix)).collect();
        let neighbours = self.netlink.neighbours().map_err(&fail)?.into_iter();
        self.neighbours = neighbours
            .filter(|neighbour| neighbour.permanent)
            .filter_map(|neighbour| Some(((neighbour.index, neighbour.address), MacAddr(neighbour.mac?))))
            .collect();
        let routes = self.netlink.host_routes().map_err(&fail)?;
        self.routes = routes.into_iter().map(|route| (route.destination(), route)).collect();
        self.features.clear();
        self.clsacts = self.netlink.clsacts().map_err(&fail)?.into_iter().collect();
        let found = tasuki_stripe::find(&mut self.netlink);
        let found = found.map_err(|source| HostError::Striping { host: self.host.clone(), source })?;
        self.striping = found.map(|found| StripingValue { sum: found.sum, plan: None });
        Ok(())
    }

    /// Reads the interfaces again.
    pub fn refresh_links(&mut self) -> Result<(), HostError> {
        let links = self.netlink.links().map_err(self.fail())?;
        self.names = links.iter().map(|link| (link.index, link.name.clone())).collect();
        self.links = links.into_iter().map(|link| (link.name.clone(), link)).collect();
        Ok(())
    }

    fn fail(&self) -> impl Fn(NetlinkError) -> HostError + use<> {
        let host = self.host.clone();
        move |source| HostError::Netlink { host: host.clone(), source }
    }

    /// What the kernel says of an interface.
    pub fn link(&self, interface: &str) -> Result<&Link, HostError> {
        self.links.get(interface).ok_or_else(|| {
            let mut present: Vec<_> = self.links.keys().map(String::as_str).collect();
            present.sort_unstable();
            HostError::NoInterface {
                host: self.host.clone(),
                interface: interface.into(),
                present: present.join(", "),
            }
        })
    }

    fn index(&self, interface: &str) -> Result<u32, HostError> {
        self.link(interface).map(|link| link.index)
    }

    /// The addresses of an interface, with their prefixes.
    pub fn addresses_of(&self, interface: &str) -> Vec<(Ipv4Addr, u8)> {
        let index = self.links.get(interface).map(|link| link.index);
        let of_it = self.addresses.iter().filter(|(carrier, ..)| Some(*carrier) == index);
        of_it.map(|(_, address, prefix)| (*address, *prefix)).collect()
    }

    /// The interface by which packets to an address leave.
    pub fn interface_to(&mut self, address: IpAddr) -> Result<Option<String>, HostError> {
        let index = self.netlink.interface_to(address).map_err(self.fail())?;
        Ok(index.and_then(|index| self.names.get(&index).cloned()))
    }

    /// The values of keys. It is [`Value::Absent`] also for a key of an interface that does not exist.
    pub fn read_all<'a>(&mut self, keys: impl IntoIterator<Item = &'a Key>) -> Result<Actual, HostError> {
        keys.into_iter().map(|key| Ok((key.clone(), self.read(key)?))).collect()
    }

    /// The value of one key.
    pub fn read(&mut self, key: &Key) -> Result<Value, HostError> {
        let present = |there: bool| if there { Value::Present } else { Value::Absent };
        let link = key.interface().and_then(|interface| self.links.get(interface));
        Ok(match key {
            Key::Sysctl { path } => self.read_sysctl(path)?,
            Key::Route { destination } => self.read_route(*destination),
            Key::File { path } => read_file(&self.host, path)?,
            Key::Symlink { path } => read_link(&self.host, path)?,
            Key::Striping => self.striping.clone().map_or(Value::Absent, Value::Striping),
            Key::Interface { .. } => present(link.is_some()),
            _ if link.is_none() => Value::Absent,
            Key::Mtu { .. } => link.map_or(Value::Absent, |link| Value::Number(link.mtu)),
            Key::Clsact { .. } => present(link.is_some_and(|link| self.clsacts.contains(&link.index))),
            Key::GsoMaxSegs { .. } => link.map_or(Value::Absent, |link| Value::Number(link.gso_max_segs)),
            Key::Up { .. } => link.map_or(Value::Absent, |link| Value::On(link.up)),
            Key::Address { address, prefix, .. } => {
                present(link.is_some_and(|link| self.addresses.contains(&(link.index, *address, *prefix))))
            }
            Key::Neighbour { address, .. } => {
                let mac = link.and_then(|link| self.neighbours.get(&(link.index, *address)));
                mac.map_or(Value::Absent, |mac| Value::Mac(*mac))
            }
            Key::Coalescing { interface } => self.read_coalescing(interface)?,
            Key::NapiDelay { interface } => {
                let index = self.index(interface)?;
                self.read_napi_delay(interface, index)?
            }
            Key::Rings { interface } => {
                let value = |rings: Rings| Value::Rings(RingsValue { rx: rings.rx, tx: rings.tx });
                self.rings(interface)?.map_or(Value::Absent, value)
            }
            Key::Offload { interface, feature } => {
                let features = self.features_of(interface)?;
                let found = features.iter().find(|known| known.name == *feature && known.changeable);
                found.map_or(Value::Absent, |found| Value::On(found.requested))
            }
        })
    }

    /// Lengths of an interface's queues; `None`: it has none that can be set.
    pub fn rings(&self, interface: &str) -> Result<Option<Rings>, HostError> {
        match Ethtool::open(interface).and_then(|ethtool| ethtool.rings()) {
            // Some drivers report lengths that cannot be set.
            Ok(rings) => Ok(Some(rings).filter(|rings| rings.rx_max > 0 && rings.tx_max > 0)),
            Err(error) if is_refusal(&error.source) => Ok(None),
            Err(error) => Err(self.ethtool()(error)),
        }
    }

    /// The offloads of an interface.
    pub fn features_of(&mut self, interface: &str) -> Result<&[Feature], HostError> {
        if !self.features.contains_key(interface) {
            let fail = |source| HostError::Ethtool { host: self.host.clone(), source };
            let features = Ethtool::open(interface).and_then(|ethtool| ethtool.features()).map_err(fail)?;
            self.features.insert(interface.into(), features);
        }
        Ok(self.features.get(interface).map_or(&[], Vec::as_slice))
    }

    /// Whether an offload of an interface is in force.
    pub fn has_feature(&mut self, interface: &str, name: &str) -> Result<bool, HostError> {
        Ok(self.features_of(interface)?.iter().any(|feature| feature.name == name && feature.active))
    }

    /// The interfaces of a driver.
    pub fn interfaces_of(&self, driver: &str) -> Vec<String> {
        let of_it = self.links.keys().filter(|name| self.driver(name).as_deref() == Some(driver));
        of_it.cloned().collect()
    }

    fn read_sysctl(&self, path: &str) -> Result<Value, HostError> {
        let path = sysctl_file(path);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Value::Text(text.trim_end().into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Value::Absent),
            Err(source) => Err(HostError::File { host: self.host.clone(), doing: "read", path, source }),
        }
    }

    fn read_route(&self, destination: Ipv4Addr) -> Value {
        let Some(saved) = self.routes.get(&destination) else { return Value::Absent };
        let ours = saved.as_route().and_then(|route| {
            let hop = |gateway: &tasuki_sys::netlink::Gateway| {
                let interface = self.names.get(&gateway.index)?.clone();
                Some(Hop { interface, via: gateway.via, weight: gateway.weight })
            };
            let hops = route.gateways.iter().map(hop).collect::<Option<_>>()?;
            Some(RouteValue { source: route.source, hops })
        });
        let whole = || saved.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        ours.map_or_else(|| Value::OtherRoute { message: whole() }, Value::Route)
    }
}

/// The file of a kernel setting.
pub fn sysctl_file(path: &str) -> PathBuf {
    Path::new("/proc/sys").join(path)
}
