CREATE VIRTUAL TABLE place USING rtree(
    id, t_min, t_max, x_min, x_max, y_min, y_max, z_min, z_max,
    +record, +position, +who, +day, +start, +gap, +lat, +lon, +radius);
