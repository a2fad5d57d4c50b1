//! Links the program at a fixed address: see `docs/adr/0013-the-program-has-a-fixed-address.md`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if (said("CARGO_CFG_TARGET_OS").as_str(), said("CARGO_CFG_TARGET_ENV").as_str())
        != ("linux", "gnu")
    {
        return;
    }
    if said("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static") {
        println!("cargo::rustc-link-arg-bins=-static");
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
}

/// Reads what cargo tells of the target.
fn said(variable: &str) -> String {
    let said = std::env::vars_os().find(|(name, _)| name == variable);
    said.and_then(|(_, value)| value.into_string().ok()).unwrap_or_default()
}
