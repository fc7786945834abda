//! Where the parts of a network stand and how its cables lead, for pictures that are drawn elsewhere.

use super::{
    course::{Frame, middles},
    layout::{Point, layout},
};
use serde::Serialize;
use tasuki_topo::Network;

/// Places in a picture whose y grows downwards. They are rounded to tenths.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sketch {
    /// Left edge, upper edge, width and height of the picture.
    pub view: [f64; 4],
    /// The middle of each host and switch, in the order of [`Network::nodes`].
    pub nodes: Vec<[f64; 2]>,
    /// For each cable, in the order of [`Network::links`], the control point of the quadratic Bezier curve
    /// from its first to its second end.
    pub cables: Vec<[f64; 2]>,
}

impl Sketch {
    /// Of a network that has a node.
    pub(super) fn of(net: &Network) -> Self {
        let points = layout(net);
        let tenths = |value: f64| (value * 10.0).round() / 10.0;
        let place = |point: &Point| [tenths(point.x), tenths(point.y)];
        let middles = middles(net, &points);
        let Frame { x, y, width, height } = Frame::around(net, &points, &middles);
        Self {
            view: [x, y, width, height].map(tenths),
            nodes: points.iter().map(place).collect(),
            cables: middles.iter().map(place).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_topo::shapes::{self, Fit};

    #[test]
    fn all_parts_are_inside_and_cables_lead_between_their_ends() {
        let net = shapes::full(4, &Fit::relays()).expect("a network");
        let sketch = Sketch::of(&net);
        assert_eq!((sketch.nodes.len(), sketch.cables.len()), (4, 6));
        let [x, y, width, height] = sketch.view;
        let inside = |[a, b]: [f64; 2]| a > x && a < x + width && b > y && b < y + height;
        assert!(sketch.nodes.iter().chain(&sketch.cables).all(|place| inside(*place)), "{sketch:?}");
    }
}
