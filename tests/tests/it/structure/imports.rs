//! Tests of the imports between the modules of each crate, and of the sizes of its types.

use airlock_tests::crates::{self, imports::Graph, methods};

use super::assert_none;

const METHODS_PER_TYPE: usize = 40;
const METHODS_PER_TRAIT: usize = 20;

#[test]
fn no_crate_has_an_import_cycle() {
    let mut found = Vec::new();
    for (root, tree) in crates::of_workspace().unwrap() {
        let graph = Graph::new(&tree);
        let root = root.display();
        println!("{root}: {} modules, {} edges", graph.files.len(), graph.imports.len());
        for ((from, to), names) in &graph.imports {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            println!("  {} -> {}: {}", from.display(), to.display(), names.join(", "));
        }
        found.extend(graph.cycles().iter().map(|cycle| format!("{root}: {cycle}")));
    }
    assert_none(&found, "the files of a crate do not import one another in a cycle");
}

#[test]
fn no_type_or_trait_is_too_large() {
    let mut found = Vec::new();
    for (_, tree) in crates::of_workspace().unwrap() {
        let types = methods::of_types(&tree).into_iter().map(|size| (size, METHODS_PER_TYPE));
        let traits = methods::of_traits(&tree).into_iter().map(|size| (size, METHODS_PER_TRAIT));
        for (size, limit) in types.chain(traits).filter(|(size, limit)| size.methods > *limit) {
            found.push(format!(
                "{}: {} has {} methods, more than {limit}",
                size.file.display(),
                size.name,
                size.methods
            ));
        }
    }
    assert_none(&found, "a type has at most 40 inherent methods, and a trait at most 20");
}
