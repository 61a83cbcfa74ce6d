-- time first, then the point of the sphere in meters as a box of x and y and a range of z: no extension is needed,
-- and poles and the antimeridian are places like any other
CREATE TABLE place (
    span INT8RANGE NOT NULL, xy BOX NOT NULL, z INT8RANGE NOT NULL,
    record BIGINT NOT NULL, position BIGINT NOT NULL, who BIGINT NOT NULL, day BIGINT NOT NULL,
    start BIGINT NOT NULL, gap BIGINT NOT NULL,
    lat BIGINT NOT NULL, lon BIGINT NOT NULL, radius BIGINT NOT NULL);
CREATE INDEX place_when_where ON place USING gist (span, xy, z);
CREATE INDEX place_record ON place (record);
