"""Recipes: one file a training run, each filling a `TrainConfig` and nothing else."""

from unmasq.recipes import (
    bb18_circuit,
    bb18_messages,
    bb72_capacity,
    bb72_circuit,
    bb72_messages,
    bb72_messages_z,
    bb108_messages,
    bb144_capacity,
    bb144_circuit,
    bb144_circuit_z,
    bb144_messages,
    own,
    paper_bb72_capacity,
    paper_bb72_circuit,
    paper_bb72_continuous,
    paper_bb144_capacity,
    paper_bb144_circuit,
    paper_bb144_continuous,
)
from unmasq.suggest import nearest
from unmasq.training.config import TrainConfig

RECIPES = {
    module.RECIPE.name: module.RECIPE
    for module in (
        bb18_circuit,
        bb18_messages,
        bb72_circuit,
        bb72_messages,
        bb72_messages_z,
        bb72_capacity,
        bb108_messages,
        bb144_circuit,
        bb144_circuit_z,
        bb144_messages,
        bb144_capacity,
        own,
        paper_bb72_circuit,
        paper_bb72_capacity,
        paper_bb72_continuous,
        paper_bb144_circuit,
        paper_bb144_capacity,
        paper_bb144_continuous,
    )
}


def get_recipe(name: str) -> TrainConfig:
    """A recipe by its name."""
    if name not in RECIPES:
        raise ValueError(
            f"recipe must be one of {', '.join(RECIPES)}: got '{name}'.{nearest(name, RECIPES)}"
        )
    return RECIPES[name]
