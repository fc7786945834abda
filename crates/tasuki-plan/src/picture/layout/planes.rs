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
