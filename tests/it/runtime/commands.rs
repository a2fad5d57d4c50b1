//! What a command gets and gives: its input, its variables, its folder, its output.

use super::{HONEST, Place, World, at_each_place};

at_each_place! {
    /// The prompt is whole and ends.
    the_prompt_is_on_the_standard_input_and_ends
    the_variables_of_the_allow_list_arrive_and_no_others
    it_runs_in_the_project_and_what_it_makes_is_there
    it_reports_by_the_command_of_the_prompt
    output_comes_through_byte_for_byte
    a_line_of_megabytes_comes_through_whole
    fifty_megabytes_come_through_whole
    both_streams_are_kept
    an_agent_that_reads_no_input_is_no_trouble
}

fn the_prompt_is_on_the_standard_input_and_ends(place: Place) {
    let world = World::new(place);
    world.step("cat > prompt.txt; echo ended");
    let prompt = world.env.read("prompt.txt");
    assert!(prompt.contains("PROPOSE") && prompt.contains("add-api"), "{prompt}");
    assert_eq!(world.output(), b"ended\n");
    world.assert_clean();
}

fn the_variables_of_the_allow_list_arrive_and_no_others(place: Place) {
    let world = World::new(place);
    let script = "env > env.txt";
    world
        .apply(script)
        .var("GH_TOKEN", "with 'quotes'\nand = lines")
        .var("DATABASE_URL", "planted")
        .var("MINE", "mine")
        .var("RATCHET_AGENT_ENV_ALLOW", "MINE")
        .json();
    let env = world.env.read("env.txt");
    for line in ["MINE=mine", "RATCHET_BATCH_NAME=shop"] {
        assert!(env.contains(line), "{line} is not in\n{env}");
    }
    // Keys live on the worker, and do not travel.
    let travels = env.contains("GH_TOKEN=with 'quotes'\nand = lines");
    assert_eq!(travels, place != Place::Remote, "{env}");
    assert!(env.contains("RATCHET_SPAWN_ID=") && !env.contains("planted"), "{env}");
    world.assert_clean();
}

fn it_runs_in_the_project_and_what_it_makes_is_there(place: Place) {
    let world = World::new(place);
    world.step("pwd; mkdir -p 'a b/ü'; echo made > 'a b/ü/x:y'");
    let pwd = String::from_utf8(world.output()).expect("a path is text");
    assert_eq!(pwd.trim_end(), world.seen_root().to_str().expect("a path is text"));
    assert_eq!(world.env.read("a b/ü/x:y"), "made\n");
}

fn it_reports_by_the_command_of_the_prompt(place: Place) {
    let world = World::new(place);
    // The word for ratchet is taken out of the prompt, as an agent would.
    let script = "word=$(grep -o '[^ ]*ratchet batch report shop' | head -n 1) && \
        mkdir -p .ratchet/changes/add-api && printf -- '- [ ] a\\n' > .ratchet/changes/add-api/plan.md && \
        $word --change add-api --complete 'it is planned'";
    let step = world.step(script);
    assert_eq!(step["state"], "advanced", "{step:#}");
    let reported = world.env.journaled("shop", "add-api", "completion");
    assert_eq!(reported[0]["message"], "it is planned", "{reported:#?}");
    world.assert_clean();
}

fn output_comes_through_byte_for_byte(place: Place) {
    let world = World::new(place);
    world.step(r"printf 'a\377\376\000b\r\n\303'; printf 'no end'");
    assert_eq!(world.output(), b"a\xff\xfe\x00b\r\n\xc3no end");
}

fn a_line_of_megabytes_comes_through_whole(place: Place) {
    let world = World::new(place);
    world.step("head -c 5000000 /dev/zero | tr '\\0' x");
    let output = world.output();
    assert_eq!(output.len(), 5_000_000);
    assert!(output.iter().all(|byte| *byte == b'x'));
}

fn fifty_megabytes_come_through_whole(place: Place) {
    let world = World::new(place);
    world.step("yes 0123456789abcde | head -c 50000000");
    let output = world.output();
    assert_eq!(output.len(), 50_000_000);
    let line = b"0123456789abcde\n";
    assert!(output.chunks(line.len()).all(|chunk| line.starts_with(chunk)));
}

fn both_streams_are_kept(place: Place) {
    let world = World::new(place);
    world.step("echo out; echo err >&2; exit 3");
    let log = world.env.ratchet(["batch", "log", "--last", "--raw"]).ok();
    assert_eq!(log.stdout(), "out\n");
    assert!(log.stderr().contains("err\n"), "{log}");
}

fn an_agent_that_reads_no_input_is_no_trouble(place: Place) {
    let world = World::new(place);
    let step = world.step(&format!("exec < /dev/null; {HONEST}"));
    assert_eq!(step["state"], "advanced", "{step:#}");
    world.assert_clean();
}
