//! What the parts of a cabling cost, for `tasuki plan` and `tasuki topo`.

use clap::Args;

/// What parts cost, in any currency.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Prices {
    /// Price of a cable
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub price_cable: Option<f64>,
    /// Price of a NIC's port
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub price_nic: Option<f64>,
    /// Price of a switch
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub price_switch: Option<f64>,
    /// Price of a metre of cable, on top of the cable's own; counts where lengths are known
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub price_metre: Option<f64>,
}

impl From<Prices> for tasuki_plan::Prices {
    fn from(prices: Prices) -> Self {
        let Prices { price_cable: cable, price_nic: nic, price_switch: switch, price_metre: metre } = prices;
        Self { cable, nic, switch, metre }
    }
}

/// Reads a price.
fn price(text: &str) -> Result<f64, String> {
    let price = text.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "write a number, 0 or more, as 8 or 12.50".into())
}
