ls &&
pwd