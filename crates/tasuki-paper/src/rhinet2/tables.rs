//! Tables 1, 8 and 9.

use super::bandwidth::{alone, flows, mean};
use super::irregular::Irregular;
use super::model::{HEADERS, LINK_BPS, MOST_DATA, SMALL};
use super::networks::{Routing, fat_tree_32, line, mesh, torus};
use super::{Model, Rhinet2Error};
use crate::cell::Findings;
use tasuki_topo::bounds::Pattern;
use tasuki_topo::measure::{degree, diameter};
use tasuki_topo::shapes::{ClosHosts, myrinet_clos};

/// Table 1 for the sizes that the paper built.
pub(super) fn table1() -> Result<Findings, Rhinet2Error> {
    let clos = myrinet_clos(4, ClosHosts::Both, &super::networks::fit(4))?;
    let rows = [
        ("2D mesh 4x4", mesh()?.net),
        ("2D torus 4x4", torus()?.net),
        (super::names::FAT_14, fat_tree_32()?.net),
        ("Myrinet-Clos 4x4", clos),
    ];
    let mut found = Findings::default();
    for (name, net) in rows {
        found.put("T1", format!("{name}, diameter"), diameter(&net).map_or(f64::NAN, f64::from));
        found.put("T1", format!("{name}, degree"), f64::from(degree(&net)));
    }
    Ok(found)
}

/// Table 8, from runs over 1 and 7 switches.
pub(super) fn table8(model: &Model) -> Result<Findings, Rhinet2Error> {
    let mut rounds = [0.0; 2];
    for (round, switches) in rounds.iter_mut().zip([1, 7]) {
        let net = line(switches)?;
        let tables = model.route(&net, Routing::Minimal)?;
        *round = f64::from(MOST_DATA) / mean(model, &net, &tables, &[(0, 1)], MOST_DATA)?;
    }
    let slope = (rounds[1] - rounds[0]) / 6.0;
    let fixed = rounds[0] - slope;
    let inject = |bytes: u32| f64::from(bytes) * 8e6 / LINK_BPS as f64;
    let (data, ack) = (inject(MOST_DATA + HEADERS), inject(SMALL));
    let mut found = Findings::default();
    found.put("T8", "total without switches", fixed);
    found.put("T8", "total per switch", slope);
    found.put("T8", "host", fixed - data - ack);
    found.put("T8", "acknowledgement, injection", ack);
    found.put("T8", "packet, injection", data);
    Ok(found)
}

/// Complement traffic of 1,792-byte packets: bandwidth without waiting, with waiting, and the loss between
/// them.
pub(super) struct Complement {
    pub ideal: f64,
    pub result: f64,
    pub drop: f64,
}

pub(super) fn complement(
    model: &Model,
    net: &tasuki_topo::Network,
    routing: Routing,
) -> Result<Complement, Rhinet2Error> {
    let tables = model.route(net, routing)?;
    let pairs = flows(net, Pattern::Complement);
    let ideal = alone(model, net, &tables, &pairs, MOST_DATA)?;
    let result = mean(model, net, &tables, &pairs, MOST_DATA)?;
    Ok(Complement { ideal, result, drop: (1.0 - result / ideal) * 100.0 })
}

/// Table 9.
pub(super) fn table9(model: &Model, irregular: [&Irregular; 2]) -> Result<Findings, Rhinet2Error> {
    let mut found = Findings::default();
    let of_torus = complement(model, &torus()?.net, torus()?.routing)?;
    for irregular in irregular {
        let mut all: [Vec<f64>; 3] = Default::default();
        for &lost in &irregular.chosen {
            let of = complement(model, &irregular.network(lost)?, Routing::Structured)?;
            for (values, value) in all.iter_mut().zip([of.ideal, of.result, of.drop]) {
                values.push(value);
            }
        }
        let name = |part: &str| format!("topology {}, {part}", irregular.name);
        if irregular.name == "A" {
            let worst = all[0].iter().map(|ideal| (1.0 - ideal / of_torus.ideal) * 100.0).collect::<Vec<_>>();
            found.put_range("4.3", "effect of distance, at most", &worst);
        }
        let [ideal, result, drop] = all;
        found.put_range("T9", name("ideal"), &ideal);
        found.put_each("T9", name("result"), result);
        found.put_each("T9", name("drop"), drop);
    }
    for named in [mesh()?, torus()?] {
        let of = complement(model, &named.net, named.routing)?;
        for (part, value) in [("ideal", of.ideal), ("result", of.result), ("drop", of.drop)] {
            found.put("T9", format!("{}, {part}", named.name), value);
        }
    }
    Ok(found)
}
