//! Places in the picture of a network of planes: hosts in a row, their switches around them.

use super::{Parts, Point, STEP};

impl Parts<'_> {
    /// The switches of a network of planes: several switches, none of which has a cable to another one, and
    /// hosts that have cables to all of them. `None` if this is another network.
    pub(super) fn planes(&self) -> Option<Vec<usize>> {
        let (hosts, switches): (Vec<usize>, Vec<usize>) = self.nodes().partition(|&node| self.leaf[node]);
        let joins_all = |&host: &usize| self.beside[host] == switches;
        (switches.len() > 1 && !hosts.is_empty() && hosts.iter().all(joins_all)).then_some(switches)
    }

    /// Places hosts in a row, and switches above and below it by turns.
    pub(super) fn row(&self, switches: &[usize]) -> Vec<Point> {
        let mut points = vec![Point::default(); self.beside.len()];
        let hosts: Vec<usize> = self.nodes().filter(|&node| self.leaf[node]).collect();
        for (i, &host) in hosts.iter().enumerate() {
            points[host].x = i as f64 * STEP.0;
        }
        let width = (hosts.len() - 1).max(switches.len()) as f64 * STEP.0;
        // With more hosts the cables need more height to be told apart.
        let y = STEP.1 * (2.0 + hosts.len() as f64 / 4.0);
        for (i, &switch) in switches.iter().enumerate() {
            let on_side = if i % 2 == 0 { switches.len().div_ceil(2) } else { switches.len() / 2 };
            let share = ((i / 2) as f64 + 0.5) / on_side as f64;
            points[switch] = Point { x: share * width, y: if i % 2 == 0 { -y } else { y } };
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::layout::layout;
    use tasuki_cluster::generate::{Options, generate};
    use tasuki_topo::{Network, NodeId};

    #[test]
    fn planes_stand_above_and_below_their_hosts() {
        let cluster = generate(&"planes:4x2".parse().expect("a shape"), &Options::default());
        let net = Network::from_cluster(&cluster.expect("a cluster")).expect("a network");
        let points = layout(&net);
        let of = |is_host: bool| {
            let nodes = (0u32..).zip(&points);
            let nodes = nodes.filter(|(node, _)| net.host_of(NodeId(*node)).is_some() == is_host);
            nodes.map(|(_, point)| *point).collect::<Vec<Point>>()
        };
        let (hosts, switches) = (of(true), of(false));
        assert!(hosts.iter().all(|host| host.y == 0.0), "{hosts:?}");
        assert!(hosts.windows(2).all(|pair| pair[1].x - pair[0].x == STEP.0), "{hosts:?}");
        assert!(switches[0].y < -STEP.1 && switches[1].y > STEP.1, "{switches:?}");
        assert!(switches.iter().all(|switch| switch.x == (hosts[0].x + hosts[3].x) / 2.0), "{switches:?}");
    }
}
