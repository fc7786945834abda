//! The macro that defines constants and the table of them in one place.

/// Defines groups of constants, each a public module, and `ALL`, the table.
///
/// An entry is `NAME: TYPE = DEFAULT, "UNIT"; why "..."; gain "..."; other "VALUE", bench "ARGS"; adr N`, or `command "..."` in place of
/// `other` and `bench`. Its documentation is its meaning in the table.
macro_rules! tuning {
    ($(
        $(#[doc = $about:literal])+
        pub mod $group:ident {$(
            $(#[doc = $meaning:literal])+
            $name:ident: $type:ident = $default:expr, $unit:literal;
            why $why:literal;
            gain $gain:literal;
            $(other $other:literal, bench $args:literal;)?
            $(command $command:literal;)?
            $(adr $adr:literal;)?
        )+}
    )+) => {
        $(
            $(#[doc = $about])+
            pub mod $group {
                $(
                    $(#[doc = $meaning])+
                    ///
                    #[doc = concat!("Unit: ", $unit, ". ", $why)]
                    pub const $name: $type = $crate::constant::told(
                        option_env!(concat!("TASUKI_TUNING_", stringify!($group), "_", stringify!($name))),
                        $default as u64,
                    ) as $type;
                )+

                /// The records of this group.
                pub(crate) const RECORDS: &[$crate::Constant] = &[$($crate::Constant {
                    group: stringify!($group),
                    name: stringify!($name),
                    default: $crate::Value::Integer($default as u64),
                    value: $crate::Value::Integer($name as u64),
                    unit: $unit,
                    meaning: concat!($($meaning),+),
                    why: $why,
                    gain: $gain,
                    measure: tuning!(@measure $($other, $args)? $($command)?),
                    adr: 0 $(+ $adr)?,
                }),+];
            }
        )+

        /// All constants, by group.
        pub fn all() -> impl Iterator<Item = &'static $crate::Constant> {
            [$($group::RECORDS),+].into_iter().flatten()
        }
    };
    (@measure $other:literal, $args:literal) => { $crate::Measure::Bench { other: $other, args: $args } };
    (@measure $command:literal) => { $crate::Measure::Command($command) };
}
