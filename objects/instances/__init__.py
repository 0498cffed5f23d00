"""Records about instances beside the instance itself: builds, actions, commands, moves, groups."""
