-- Databases of the whole deployment; the tables are made by the container "setup".
CREATE DATABASE armillary_api;
CREATE DATABASE armillary_cell0;
CREATE DATABASE armillary_cell1;
CREATE DATABASE armillary_cell2;
CREATE DATABASE armillary_placement;
