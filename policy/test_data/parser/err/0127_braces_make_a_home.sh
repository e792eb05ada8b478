beta {~,a}/x
